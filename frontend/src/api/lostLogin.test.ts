import { describe, expect, it } from 'vitest';
import { fetchAfterLogin, LostLogin, saysLoginEnded } from './lostLogin';

const ADDRESS = 'http://portal.test/api/v1/jobs';
const ended = (): Response =>
  new Response('{"type":"urn:portal:login-required"}', { status: 401, statusText: 'Unauthorized' });

/** Answers with these, one after the other, and keeps the bodies it was sent. */
function played(...answers: (() => Response)[]) {
  const sent: string[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    sent.push(await request.text());
    return answers[sent.length - 1]?.() ?? new Response(null, { status: 500 });
  };
  return { sent, fetch };
}

const post = (): Request => new Request(ADDRESS, { method: 'POST', body: '{"name":"a"}' });

describe('a request whose login has ended', () => {
  it('is made once more, with its body, when the user is back', async () => {
    const lost = new LostLogin();
    const asked: boolean[] = [];
    lost.askedBy((asking) => asked.push(asking));
    const { sent, fetch } = played(ended, () => new Response('{}', { status: 201 }));
    const answer = fetchAfterLogin(lost, fetch)(post());
    await expect.poll(() => asked).toEqual([false, true]);
    lost.answer(true);
    expect((await answer).status).toBe(201);
    expect(sent).toEqual(['{"name":"a"}', '{"name":"a"}']);
    expect(asked).toEqual([false, true, false]);
  });

  it('waits with all others for one answer', async () => {
    const lost = new LostLogin();
    let asked = 0;
    lost.askedBy((asking) => {
      if (asking) asked += 1;
    });
    const both = [lost.ask(), lost.ask()];
    lost.answer(true);
    expect(await Promise.all(both)).toEqual([true, true]);
    expect(asked).toBe(1);
  });

  it('is refused when another user logs in, or no dialog can ask', async () => {
    const lost = new LostLogin();
    const { sent, fetch } = played(ended, ended);
    expect((await fetchAfterLogin(lost, fetch)(post())).status).toBe(401);
    const leave = lost.askedBy(() => undefined);
    const answer = fetchAfterLogin(lost, fetch)(post());
    await expect.poll(() => sent.length).toBe(2);
    leave();
    const refused = await answer;
    expect(refused.status).toBe(401);
    expect(await refused.json()).toEqual({ type: 'urn:portal:login-required' });
  });

  it('asks each dialog registered while it waits', async () => {
    const lost = new LostLogin();
    const leave = lost.askedBy(() => undefined);
    const waiting = lost.ask();
    const asked: boolean[] = [];
    lost.askedBy((asking) => asked.push(asking));
    leave();
    expect(asked).toEqual([true]);
    lost.answer(true);
    expect(await waiting).toBe(true);
  });
});

describe('recognizing an ended login', () => {
  const isLoginEnded = (status: number, body: string, address = ADDRESS): Promise<boolean> =>
    saysLoginEnded(address, new Response(body, { status }));

  it('is that problem alone', async () => {
    expect(await isLoginEnded(401, '{"type":"urn:portal:login-required"}')).toBe(true);
    expect(await isLoginEnded(401, '{"type":"urn:portal:wrong-credentials"}')).toBe(false);
    expect(await isLoginEnded(401, '<html>a proxy</html>')).toBe(false);
    expect(await isLoginEnded(401, 'null')).toBe(false);
    expect(await isLoginEnded(403, '{"type":"urn:portal:login-required"}')).toBe(false);
  });

  it('is none of a login in the making', async () => {
    const body = '{"type":"urn:portal:login-required"}';
    expect(await isLoginEnded(401, body, 'http://portal.test/api/v1/login/second-factor')).toBe(
      false,
    );
    expect(await isLoginEnded(401, body, 'http://portal.test/api/v1/loginless')).toBe(true);
  });
});
