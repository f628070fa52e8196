import { beforeEach, describe, expect, it, vi } from 'vitest';

const problem = (status: number, slug: string): Response =>
  Response.json({ type: `urn:portal:${slug}`, title: slug, status }, { status });

class RequestHere extends Request {
  constructor(input: RequestInfo | URL, init?: RequestInit) {
    super(typeof input === 'string' ? new URL(input, 'https://portal.example') : input, init);
  }
}

/** A portal whose login has ended and that requires the password for a new token. */
class Portal {
  readonly requests: string[] = [];
  loggedIn = false;
  confirmed = false;

  readonly fetch = async (request: Request): Promise<Response> => {
    const call = `${request.method} ${new URL(request.url).pathname.replace('/api/v1', '')}`;
    this.requests.push(call);
    if (!this.loggedIn) return problem(401, 'login-required');
    if (call === 'POST /reauth') {
      this.confirmed = (await request.json()).password === 'right';
      return this.confirmed
        ? new Response(null, { status: 204 })
        : problem(401, 'wrong-credentials');
    }
    if (call === 'POST /tokens' && !this.confirmed) return problem(403, 'password-required');
    return Response.json({}, { status: 200 });
  };
}

/** Open a page on this portal; `asking` is whether its login dialog is open. */
async function openPage(portal: Portal) {
  vi.resetModules();
  vi.stubGlobal('Request', RequestHere);
  vi.stubGlobal('fetch', portal.fetch);
  const { api, unwrap } = await import('@/api/client');
  const { lostLogin } = await import('@/api/lostLogin');
  const { resumeRequests, runWithPassword } = await import('./passwordAgain');
  const page = { asking: false };
  lostLogin.registerDialog((open) => {
    page.asking = open;
  });
  const askForPassword = vi.fn(async () => {
    portal.confirmed = true;
  });
  const endOtherLogins = () => unwrap(api.DELETE('/api/v1/me/logins'));
  const body = { name: 'laptop', scopes: ['read' as const], expires_in_days: 1 };
  return {
    askForPassword,
    createToken: () =>
      runWithPassword(() => unwrap(api.POST('/api/v1/tokens', { body })), askForPassword),
    listTokens: () => unwrap(api.GET('/api/v1/tokens')),
    endOtherLogins,
    endOtherLoginsWithPassword: () => runWithPassword(endOtherLogins, askForPassword),
    /** Log in once the login dialog is open. */
    logIn: async (password: string | null) => {
      await expect.poll(() => page.asking).toBe(true);
      portal.loggedIn = true;
      resumeRequests(password);
    },
  };
}

describe('a login in place', () => {
  let portal: Portal;
  beforeEach(() => {
    portal = new Portal();
  });

  it('confirms the password for the sensitive action that waited for it', async () => {
    const page = await openPage(portal);
    const token = page.createToken();
    await page.logIn('right');
    await token;
    const expected = ['POST /tokens', 'POST /tokens', 'POST /reauth', 'POST /tokens'];
    expect(portal.requests).toEqual(expected);
    expect(page.askForPassword).not.toHaveBeenCalled();
  });

  it('does not confirm it for other requests', async () => {
    const page = await openPage(portal);
    const waiting = Promise.all([page.listTokens(), page.endOtherLogins()]);
    await page.logIn('right');
    await waiting;
    await page.createToken();
    expect(portal.requests).not.toContain('POST /reauth');
    expect(page.askForPassword).toHaveBeenCalledOnce();
  });

  it('does not confirm it for an action that the portal allows without', async () => {
    const page = await openPage(portal);
    const waiting = page.endOtherLoginsWithPassword();
    await page.logIn('right');
    await waiting;
    await page.createToken();
    expect(portal.requests).not.toContain('POST /reauth');
    expect(page.askForPassword).toHaveBeenCalledOnce();
  });

  it('leaves the question to the dialog if another tab has logged in', async () => {
    const page = await openPage(portal);
    const token = page.createToken();
    await page.logIn(null);
    await token;
    expect(portal.requests).not.toContain('POST /reauth');
    expect(page.askForPassword).toHaveBeenCalledOnce();
  });

  it('leaves the question to the dialog if the password is refused', async () => {
    const page = await openPage(portal);
    const token = page.createToken();
    await page.logIn('changed since');
    await token;
    expect(page.askForPassword).toHaveBeenCalledOnce();
  });
});
