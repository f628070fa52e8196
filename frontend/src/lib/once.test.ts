import { beforeEach, describe, expect, it } from 'vitest';
import { ApiError } from '@/api/problem';
import { personLeaves } from './leaving';
import { once } from './once';

const LOST = new ApiError(0, 'offline', 'The portal doesn’t answer.');
const WISH = ['session', { cpus: 1 }];

/** What was sent, each answered in turn: an error is thrown. */
function portal(...answers: unknown[]) {
  const sent: { body: unknown; key: string }[] = [];
  const send = (body: unknown, key: string): Promise<unknown> => {
    sent.push({ body, key });
    const answer = answers.shift();
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const keys = (): string[] => sent.map(({ key }) => key);
  return { sent, send, keys };
}

describe('a wish', () => {
  beforeEach(personLeaves);

  it('goes out under its key again when its answer was lost, as it was', async () => {
    const { sent, send, keys } = portal(LOST, new ApiError(502, 'unknown', 'Bad gateway.'), 'made');
    const bodies = ['first', 'second', 'third'];
    const ask = () => once(WISH, () => bodies.shift(), send);
    await expect(ask()).rejects.toBe(LOST);
    await expect(ask()).rejects.toThrow('Bad gateway.');
    await expect(ask()).resolves.toBe('made');
    expect(new Set(keys()).size).toBe(1);
    expect(keys()[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(sent.map(({ body }) => body)).toEqual(['first', 'first', 'first']);
  });

  it('is another one once it was answered, be it with a refusal', async () => {
    const { send, keys } = portal('made', new ApiError(409, 'conflict', 'No.'), 'made');
    await once(WISH, () => 1, send);
    await expect(once(WISH, () => 1, send)).rejects.toThrow('No.');
    await once(WISH, () => 1, send);
    expect(new Set(keys()).size).toBe(3);
  });

  it('is one for two clicks at once, and another for another wish', async () => {
    const { send, keys } = portal('made', 'made', 'made');
    await Promise.all([
      once(WISH, () => 1, send),
      once(WISH, () => 1, send),
      once(['other'], () => 1, send),
    ]);
    const [first, second, other] = keys();
    expect(second).toBe(first);
    expect(other).not.toBe(first);
  });

  it('is forgotten after a while, and when somebody else comes', async () => {
    const { send, keys } = portal(LOST, LOST, LOST);
    let time = 0;
    const ask = () =>
      expect(
        once(
          WISH,
          () => 1,
          send,
          () => time,
        ),
      ).rejects.toBe(LOST);
    await ask();
    time += 3_600_000;
    await ask();
    personLeaves();
    await ask();
    expect(new Set(keys()).size).toBe(3);
  });
});
