import { describe, expect, it } from 'vitest';
import { makeContainer, newer, type Scope, selectVersion } from './container';
import { makeRoom } from './plugin';
import { createServer } from './server';
import { session } from './testing';

describe('the server of this page', () => {
  const settings = { baseUrl: '/user/alice/s1/' };
  const answering = (answer: Response | Error, sent: unknown[] = []) =>
    createServer(
      {
        makeRequest: async (url, init) => {
          sent.push([url, init]);
          if (answer instanceof Error) throw answer;
          return answer;
        },
      },
      settings,
    );

  it('is requested below its own address', async () => {
    const sent: unknown[] = [];
    await answering(Response.json(session(5)), sent).extend(30);
    const init = { method: 'POST', body: '{"minutes":30}' };
    expect(sent).toEqual([['/user/alice/s1/portal/session/extend', init]]);
  });

  it.each([
    [Response.json({ message: 'Too much.' }, { status: 422 }), 'Too much.'],
    [new Response('<html>', { status: 502 }), "didn't respond"],
    [Response.json(['no'], { status: 500 }), "didn't respond"],
    [new Error('network'), "didn't respond"],
  ])('has its errors reported', async (answer, words) => {
    await expect(answering(answer).fetchUpdate()).rejects.toThrow(words);
  });
});

describe('a narrow window', () => {
  it('closes the file browser once the layout is restored', async () => {
    const done: string[] = [];
    const restored = Promise.resolve().then(() => done.push('restored'));
    const shell = { collapseLeft: () => void done.push('collapsed') };
    await makeRoom({ shell, restored }, 390);
    expect(done).toEqual(['restored', 'collapsed']);
    await makeRoom({ shell, restored }, 1280);
    expect(done).toHaveLength(2);
    await makeRoom({ restored }, 390);
  });
});

describe('the container', () => {
  const version = (name: string, loaded = false) => ({ get: async () => () => name, loaded });

  it('uses the shared copy', async () => {
    const load = async (versions: Scope[string]) => (await selectVersion(versions)?.get())?.();
    const [a, b] = [version('a'), version('b')];
    expect(await load({ '4.10.0': a, '4.9.2': b })).toBe('a');
    expect(await load({ '4.10.0': a, '4.9.2': version('b', true) })).toBe('b');
    expect(await load(undefined)).toBeUndefined();
    expect([newer('4.10.0', '4.9.2'), newer('4.9.2', '4.9.2')]).toEqual([true, false]);
  });

  it('creates plugins from the available services', async () => {
    const container = makeContainer(['@jupyterlab/statusbar', '@jupyterlab/notebook']);
    const scope = { '4.6.6': { get: async () => () => ({ IStatusBar: 'token' }) } };
    container.init({ '@jupyterlab/statusbar': scope });
    const module = (await container.get('./extension'))() as {
      __esModule: boolean;
      default: { id: string; optional: unknown[] }[];
    };
    expect(module.default.map(({ id }) => id)).toEqual(['data-scientist-portal:session']);
    expect(module.default[0]?.optional).toEqual(['token']);
    expect(Object.hasOwn(module, '__esModule')).toBe(true);
    await expect(container.get('./style')).rejects.toThrow('has no ./style');
  });
});
