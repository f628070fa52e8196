import { describe, expect, it } from 'vitest';
import { fetchAfterLogin, hasLoginEnded, LostLogin } from './lostLogin';

const ADDRESS = 'http://portal.test/api/v1/jobs';
const ended = (): Response =>
  new Response('{"type":"urn:portal:login-required"}', { status: 401, statusText: 'Unauthorized' });

/** Respond with these in order, and record the request bodies. */
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
  it('is repeated with its body after the user logged in again', async () => {
    const lost = new LostLogin();
    const states: boolean[] = [];
    lost.registerDialog((open) => states.push(open));
    const { sent, fetch } = played(ended, () => new Response('{}', { status: 201 }));
    const answer = fetchAfterLogin(lost, fetch)(post());
    await expect.poll(() => states).toEqual([false, true]);
    lost.answer(true);
    expect((await answer).status).toBe(201);
    expect(sent).toEqual(['{"name":"a"}', '{"name":"a"}']);
    expect(states).toEqual([false, true, false]);
  });

  it('waits for the same login as all others', async () => {
    const lost = new LostLogin();
    let count = 0;
    lost.registerDialog((open) => {
      if (open) count += 1;
    });
    const both = [lost.requestLogin(), lost.requestLogin()];
    lost.answer(true);
    expect(await Promise.all(both)).toEqual([true, true]);
    expect(count).toBe(1);
  });

  it('is refused when another user logs in, or no dialog can ask', async () => {
    const lost = new LostLogin();
    const { sent, fetch } = played(ended, ended);
    expect((await fetchAfterLogin(lost, fetch)(post())).status).toBe(401);
    const leave = lost.registerDialog(() => undefined);
    const answer = fetchAfterLogin(lost, fetch)(post());
    await expect.poll(() => sent.length).toBe(2);
    leave();
    const failed = await answer;
    expect(failed.status).toBe(401);
    expect(await failed.json()).toEqual({ type: 'urn:portal:login-required' });
  });

  it('opens each dialog registered while it waits', async () => {
    const lost = new LostLogin();
    const leave = lost.registerDialog(() => undefined);
    const waiting = lost.requestLogin();
    const states: boolean[] = [];
    lost.registerDialog((open) => states.push(open));
    leave();
    expect(states).toEqual([true]);
    lost.answer(true);
    expect(await waiting).toBe(true);
  });
});

describe('recognizing an ended login', () => {
  const isLoginEnded = (status: number, body: string, address = ADDRESS): Promise<boolean> =>
    hasLoginEnded(address, new Response(body, { status }));

  it('matches only the problem login-required', async () => {
    expect(await isLoginEnded(401, '{"type":"urn:portal:login-required"}')).toBe(true);
    expect(await isLoginEnded(401, '{"type":"urn:portal:wrong-credentials"}')).toBe(false);
    expect(await isLoginEnded(401, '<html>a proxy</html>')).toBe(false);
    expect(await isLoginEnded(401, 'null')).toBe(false);
    expect(await isLoginEnded(403, '{"type":"urn:portal:login-required"}')).toBe(false);
  });

  it('ignores requests of the login itself', async () => {
    const body = '{"type":"urn:portal:login-required"}';
    expect(await isLoginEnded(401, body, 'http://portal.test/api/v1/login/second-factor')).toBe(
      false,
    );
    expect(await isLoginEnded(401, body, 'http://portal.test/api/v1/loginless')).toBe(true);
  });
});
