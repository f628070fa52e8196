import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Apps, addApps } from './apps';
import type { SessionApp } from './facts';
import type { CommandArgs, Commands, Dialogs, InputDialogs } from './jupyter';
import { RequestError } from './server';
import { FakePage } from './testing';
import { ASK_EVERY_MS } from './watch';

const MARIMO: SessionApp = {
  name: 'marimo',
  title: 'marimo',
  input: 'file',
  extensions: ['.py'],
  state: 'stopped',
  problem: null,
  file: null,
};
const OWN: SessionApp = { ...MARIMO, name: 'own', title: 'Own', input: 'command', extensions: [] };
const PAGE = '/user/alice/s1/app/marimo/';

let page: FakePage;
let selected: { path: string; type: string }[];
let typed: string | null;
let prompts: string[];
let accepted: boolean;

const button = { accept: true };
const dialogs: Dialogs & InputDialogs = {
  showDialog: async ({ body }) => {
    prompts.push(body);
    return { button: { accept: accepted } };
  },
  Dialog: { okButton: () => button, cancelButton: () => button, warnButton: () => button },
  InputDialog: {
    getText: async ({ text }) => {
      prompts.push(text);
      return { button: { accept: typed !== null }, value: typed };
    },
  },
};

function makeApps(): Apps {
  const { watch, notify } = page;
  const browser = { selectedItems: () => selected, model: { path: 'work' } };
  const services = { watch, notify, dialogs, browser, tabs: page, sleep: async () => {} };
  return new Apps({ ...services, baseUrl: '/user/alice/s1/' });
}

beforeEach(async () => {
  page = new FakePage();
  page.watch.start();
  await page.advance(0);
  page.offered = [MARIMO, OWN];
  [selected, typed, prompts, accepted] = [[], 'work/demo.py', [], true];
});

describe("an app's card", () => {
  it('asks for the file, starts the app and opens its page', async () => {
    page.startedAs = [{ state: 'starting' }, { state: 'running' }];
    await makeApps().open(MARIMO);
    expect(prompts).toEqual(['work/']);
    expect(page.requests).toEqual([['start', 'marimo', 'work/demo.py']]);
    expect(page.opened).toEqual([PAGE]);
    expect(page.dismissed).toHaveLength(1);
  });

  it('proposes the selected file, and does nothing if that is cancelled', async () => {
    selected = [{ path: 'x/a.py', type: 'file' }];
    typed = null;
    await makeApps().open(MARIMO);
    expect(prompts).toEqual(['x/a.py']);
    expect(page.requests).toEqual([]);
  });

  it('offers the page if the browser permits no tab', async () => {
    page.permitsTabs = false;
    await makeApps().open(MARIMO);
    expect(page.opened).toEqual([]);
    page.actions[0]?.callback();
    expect(page.opened).toEqual([PAGE]);
  });

  it('shows why it failed, with a link to its output, and starts it again', async () => {
    page.startedAs = [{ state: 'failed', problem: 'It ended with status 4.' }];
    await makeApps().open(MARIMO);
    expect(page.notifications.at(-1)).toBe('error: marimo: It ended with status 4.');
    expect(page.actions.map(({ label }) => label)).toEqual(['Start Again', 'Show Output']);
    const [again, details] = page.actions;
    details?.callback();
    expect(page.opened).toEqual(['p:/s?apps=true']);
    page.startedAs = [{ state: 'running' }];
    again?.callback();
    await vi.waitFor(() => expect(page.opened).toContain(PAGE));
    expect(page.requests).toEqual([
      ['start', 'marimo', 'work/demo.py'],
      ['start', 'marimo', 'work/demo.py'],
    ]);
  });

  it('says that it was stopped elsewhere before it was ready', async () => {
    page.startedAs = [{ state: 'starting' }, { state: 'stopped' }];
    await makeApps().open(MARIMO);
    expect(page.notifications.at(-1)).toBe('error: marimo: It was stopped before it was ready.');
    expect(page.actions.map(({ label }) => label)).toEqual(['Start Again']);
  });

  it('shows a refusal', async () => {
    page.answer = new RequestError('There is no such file.', 422);
    await makeApps().open(MARIMO);
    expect(page.notifications.at(-1)).toBe('error: marimo: There is no such file.');
    expect(page.actions).toEqual([]);
  });

  it("leads to the session's page if a command is needed", async () => {
    await makeApps().open(OWN);
    expect(page.opened).toEqual(['p:/s?apps=true']);
    expect(page.requests).toEqual([]);
  });
});

describe('a file in an app that runs with another one', () => {
  it('takes its place, if that is confirmed', async () => {
    page.offered = [{ ...MARIMO, state: 'running', file: '/home/alice/old.py' }];
    accepted = false;
    await makeApps().openFile(MARIMO, 'new.py');
    expect(page.requests).toEqual([]);
    expect(prompts[0]).toContain('/home/alice/old.py');
    accepted = true;
    await makeApps().openFile(MARIMO, 'new.py');
    expect(page.requests).toEqual([['replace', 'marimo', 'new.py']]);
  });

  it('is not asked about if it is the same file', async () => {
    page.offered = [{ ...MARIMO, state: 'running', file: 'x/a.py' }];
    await makeApps().openFile(MARIMO, 'x/a.py');
    expect(prompts).toEqual([]);
    expect(page.opened).toEqual([PAGE]);
  });
});

describe('the launcher and the file browser', () => {
  it('have an entry for each app', async () => {
    const apps = makeApps();
    await apps.load();
    const added = new Map<string, Parameters<Commands['addCommand']>[1]>();
    const commands: Commands = {
      addCommand: (id, options) => void added.set(id, options),
      execute: async () => {},
      notifyCommandChanged: () => {},
      addKeyBinding: () => {},
    };
    const cards: { command: string; category: string; args?: CommandArgs }[] = [];
    const items: { command: string; args?: CommandArgs }[] = [];
    addApps(
      apps,
      commands,
      ({ title }) => `icon of ${title}`,
      { add: (item) => cards.push(item) },
      { addItem: (item) => items.push(item) },
    );
    expect(cards.map(({ category, args }) => [category, args?.name])).toEqual([
      ['Apps', 'marimo'],
      ['Apps', 'own'],
    ]);
    expect(items.map(({ args }) => args?.name)).toEqual(['marimo']);
    const item = added.get(items[0]?.command ?? '');
    const args = { name: 'marimo' };
    expect(typeof item?.label === 'function' && item.label(args)).toBe('Open in marimo');
    expect(added.get('portal:app')?.icon).toSatisfy(
      (icon: (given: CommandArgs) => unknown) => icon(args) === 'icon of marimo',
    );
    for (const [path, type, visible] of [
      ['a.py', 'file', true],
      ['a.txt', 'file', false],
      ['a.py', 'directory', false],
    ] as const) {
      selected = [{ path, type }];
      expect(item?.isVisible?.(args)).toBe(visible);
    }
  });

  it('keep their titles while the session does not answer', async () => {
    const apps = makeApps();
    await apps.load();
    page.apps = async () => {
      throw new RequestError('Away.', 0);
    };
    await apps.load();
    expect(apps.find({ name: 'marimo' })?.title).toBe('marimo');
  });

  it.each([
    ['are added once the session answers', 502, 1],
    ["stay without apps if the session's server has none", 404, 0],
  ])('%s', async (_, status, added) => {
    const answer = page.apps.bind(page);
    let requests = 0;
    page.apps = async () => {
      requests += 1;
      if (requests < 3) throw new RequestError('No answer.', status);
      return answer();
    };
    let loaded = 0;
    makeApps().start(() => {
      loaded += 1;
    });
    for (let round = 0; round < 5; round += 1) await page.advance(ASK_EVERY_MS);
    expect(loaded).toBe(added);
    expect(requests).toBe(added === 1 ? 3 : 1);
  });
});
