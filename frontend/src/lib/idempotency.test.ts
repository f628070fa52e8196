import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '@/api/problem';
import { storage } from '@/testing/storage';
import { sendOnce } from './idempotency';
import { notifyLogout } from './onLogout';

const LOST = new ApiError(0, 'offline', "The portal doesn't answer.");
const REQUEST = ['session', { cpus: 1 }];

/** A portal with these responses in order, errors being thrown, and the requests it received. */
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

describe('a request', () => {
  beforeEach(notifyLogout);

  it('is repeated unchanged with its key if the response was lost', async () => {
    const { sent, send, keys } = portal(LOST, new ApiError(502, 'unknown', 'Bad gateway.'), 'made');
    const bodies = ['first', 'second', 'third'];
    const ask = () => sendOnce(REQUEST, () => bodies.shift(), send);
    await expect(ask()).rejects.toBe(LOST);
    await expect(ask()).rejects.toThrow('Bad gateway.');
    await expect(ask()).resolves.toBe('made');
    expect(new Set(keys()).size).toBe(1);
    expect(keys()[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(sent.map(({ body }) => body)).toEqual(['first', 'first', 'first']);
  });

  it('has a new key after any response', async () => {
    const { send, keys } = portal('made', new ApiError(409, 'conflict', 'No.'), 'made');
    await sendOnce(REQUEST, () => 1, send);
    await expect(sendOnce(REQUEST, () => 1, send)).rejects.toThrow('No.');
    await sendOnce(REQUEST, () => 1, send);
    expect(new Set(keys()).size).toBe(3);
  });

  it('has one key for two clicks at once, and another for a different request', async () => {
    const { send, keys } = portal('made', 'made', 'made');
    await Promise.all([
      sendOnce(REQUEST, () => 1, send),
      sendOnce(REQUEST, () => 1, send),
      sendOnce(['other'], () => 1, send),
    ]);
    const [first, second, other] = keys();
    expect(second).toBe(first);
    expect(other).not.toBe(first);
  });

  it('has a new key if the result of the lost response is over', async () => {
    const { send, keys } = portal(LOST, 'ended', 'made');
    const isOver = (answer: unknown): boolean => answer === 'ended';
    const ask = () => sendOnce(REQUEST, () => 1, send, { isOver });
    await expect(ask()).rejects.toBe(LOST);
    await expect(ask()).resolves.toBe('made');
    const [first, second, third] = keys();
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    const at = portal('ended');
    await expect(sendOnce(REQUEST, () => 1, at.send, { isOver })).resolves.toBe('ended');
  });

  it('expires, and is dropped when another user logs in', async () => {
    const { send, keys } = portal(LOST, LOST, LOST);
    let time = 0;
    const ask = () =>
      expect(sendOnce(REQUEST, () => 1, send, { now: () => time })).rejects.toBe(LOST);
    await ask();
    time += 3_600_000;
    await ask();
    notifyLogout();
    await ask();
    expect(new Set(keys()).size).toBe(3);
  });
});

describe('after a reload of the page, a request', () => {
  afterEach(() => vi.unstubAllGlobals());

  /** Load the module afresh with this tab's storage. */
  async function page(tab: ReturnType<typeof storage>) {
    vi.stubGlobal('window', { sessionStorage: tab });
    vi.resetModules();
    const { sendOnce: ask } = await import('./idempotency');
    const { notifyLogout: leave } = await import('./onLogout');
    return { ask, leave };
  }

  it('is still the same while it has no answer', async () => {
    const { sent, send } = portal(LOST, new ApiError(502, 'unknown', 'Bad gateway.'), 'made');
    const tab = storage();
    for (const [n, outcome] of [LOST, 'Bad gateway.'].entries())
      await expect((await page(tab)).ask(REQUEST, () => ({ n }), send)).rejects.toThrow(
        outcome instanceof Error ? outcome.message : outcome,
      );
    await (await page(tab)).ask(REQUEST, () => ({ n: 2 }), send);
    expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
    expect(sent.map(({ body }) => body)).toEqual([{ n: 0 }, { n: 0 }, { n: 0 }]);
    expect(tab.length).toBe(0);
  });

  it('is the same if its page went away before the answer', async () => {
    const never = new Promise<never>(() => {});
    const keys: string[] = [];
    const tab = storage();
    void (await page(tab)).ask(
      REQUEST,
      () => 1,
      (_, key) => {
        keys.push(key);
        return never;
      },
    );
    await (await page(tab)).ask(
      REQUEST,
      () => 1,
      (_, key) => {
        keys.push(key);
        return Promise.resolve();
      },
    );
    expect(keys).toHaveLength(2);
    expect(keys[1]).toBe(keys[0]);
  });

  it('has a new key after a while, and for another user', async () => {
    const { send, keys } = portal(LOST, LOST, LOST);
    const tab = storage();
    let time = 0;
    const ask = async () => {
      const { ask: one, leave } = await page(tab);
      await expect(one(REQUEST, () => 1, send, { now: () => time })).rejects.toThrow(LOST.message);
      return leave;
    };
    await ask();
    time += 3_600_000;
    const leave = await ask();
    leave();
    expect(tab.length).toBe(0);
    await ask();
    expect(new Set(keys()).size).toBe(3);
  });

  it.each(['', 'nonsense', '[]', '{"a":1}'])(
    'is a new one if what was kept is %j',
    async (text) => {
      const tab = storage();
      tab.setItem('portal.requests', text);
      const { send, keys } = portal('made');
      await expect((await page(tab)).ask(REQUEST, () => 1, send)).resolves.toBe('made');
      expect(keys()).toHaveLength(1);
    },
  );

  it('is sent even if storage is full', async () => {
    const tab = storage(10);
    const { send, keys } = portal(LOST, 'made');
    const { ask } = await page(tab);
    await expect(ask(REQUEST, () => 1, send)).rejects.toThrow(LOST.message);
    await ask(REQUEST, () => 1, send);
    expect(new Set(keys()).size).toBe(1);
    expect(tab.length).toBe(0);
  });
});
