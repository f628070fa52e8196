import { describe, expect, it } from 'vitest';
import type { Job, Me, Session } from '@/api/types';
import {
  allCommands,
  fileCommand,
  jobActions,
  jobCommand,
  jobNameIn,
  matchCommands,
  missingFilesTexts,
  searchCommands,
  sessionActions,
  withoutKnown,
} from './commands';
import { NOTHING_PRESSED, press, SHORTCUTS, TOGETHER_MS } from './keys';
import { shownFolder } from './shownFolder';

const alice = {
  username: 'alice',
  display_name: 'Alice',
  role: 'user',
  manages: [],
} as unknown as Me;
const carol: Me = { ...alice, username: 'carol', role: 'admin', manages: ['lab/ml'] };

const session = (over: Partial<Session>): Session =>
  ({
    id: 's1',
    name: 'Träining',
    state: 'running',
    outcome: null,
    url: '/user/alice/s1/',
    environment_title: 'Python 3',
    node: 'node01',
    ...over,
  }) as Session;

const job = { id: 'j1', name: 'finetune', state: 'ended', outcome: 'failed', job_id: 4711 } as Job;

const titles = (text: string, me = alice, sessions: Session[] = [session({})]): string[] =>
  matchCommands(allCommands({ me, sessions, jobs: [job] }), text).map(({ title }) => title);

describe('the palette', () => {
  it('offers live sessions and jobs before anything is typed', () => {
    expect(titles('')[0]).toBe('Open JupyterLab of Träining');
    expect(titles('')).toContain('Start a session');
    expect(titles('', alice, [])[0]).toBe('Start a session');
  });

  it('finds parts of words and keywords, ignoring case and accents', () => {
    expect(titles('TRAIN').slice(0, 2)).toEqual(['Träining', 'Open JupyterLab of Träining']);
    expect(titles('new notebook')[0]).toBe('Start a session');
    expect(titles('4711')).toEqual(['finetune']);
    expect(titles('fine job')).toEqual(['finetune']);
    expect(titles('no such thing')).toEqual([]);
  });

  it('searches the portal by the words that name no action', () => {
    expect(jobNameIn('log load-1')).toBe('load-1');
    expect(jobNameIn('Run load-1 again')).toBe('load-1');
    expect(jobNameIn('load 1')).toBe('load 1');
    expect(jobNameIn('run')).toBe('run');
  });

  it('offers the page of an ended session, but not its JupyterLab', () => {
    const over = session({ state: 'ended', outcome: 'completed' });
    expect(titles('träining', alice, [over])).toEqual(['Träining', 'Start Träining again']);
  });

  it("has the administrators' pages for administrators and viewers", () => {
    expect(titles('audit')).toEqual([]);
    expect(titles('audit', carol)).toEqual(['Audit']);
    const [group] = matchCommands(allCommands({ me: carol, sessions: null, jobs: null }), 'lab');
    expect(group?.effect).toEqual({ kind: 'page', href: '/groups/lab%2Fml' });
  });

  it('adds the jobs that only the portal knows', () => {
    const known = matchCommands(allCommands({ me: alice, sessions: [], jobs: [job] }), 'finetune');
    const found = [job, { ...job, id: 'j0' }].map(jobCommand);
    expect(withoutKnown(found, known).map(({ id }) => id)).toEqual(['/jobs/j0']);
  });

  it('has each command once, and offers to search further', () => {
    const ids = allCommands({ me: carol, sessions: [session({})], jobs: [job] }).map((c) => c.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(searchCommands(alice, ' ')).toEqual([]);
    expect(searchCommands(alice, 'a&b').map((c) => c.id)).toEqual(['/jobs?q=a%26b']);
    expect(searchCommands(carol, 'x').map((c) => c.id)).toEqual(['/jobs?q=x', '/admin/users?q=x']);
  });
});

describe('actions', () => {
  const started = '2026-03-01T12:00:00Z';
  const titlesOf = (commands: { title: string }[]): string[] => commands.map((c) => c.title);

  it('of a session follow its state', () => {
    const extension = { minutes: 130, reason: null };
    expect(titlesOf(sessionActions(session({ extension } as Partial<Session>)))).toEqual([
      '1 h more for Träining',
      '2 h more for Träining',
      'Open TensorBoard of Träining',
      'Open the log of Träining',
      'Stop Träining…',
    ]);
    expect(titlesOf(sessionActions(session({ state: 'queued' })))).toEqual(['Stop Träining…']);
    expect(sessionActions(session({ state: 'stopping' }))).toEqual([]);
    expect(titlesOf(sessionActions(session({ state: 'ended' })))).toEqual(['Start Träining again']);
  });

  it('of a job follow its state', () => {
    const running = { ...job, state: 'running', started_at: started, logdir: '/x' } as Job;
    expect(titlesOf(jobActions(running))).toEqual([
      'Open the log of finetune',
      'Open TensorBoard of finetune',
      'Cancel finetune…',
    ]);
    const ended = { ...job, started_at: started, logdir: null, tensorboard: null } as Job;
    expect(titlesOf(jobActions(ended))).toEqual(['Open the log of finetune', 'Run finetune again']);
  });

  it('that lose work ask first, and none is offered before anything is typed', () => {
    const all = [...sessionActions(session({})), ...jobActions({ ...job, state: 'queued' } as Job)];
    const kinds = all.filter(({ title }) => title.endsWith('…')).map(({ effect }) => effect.kind);
    expect(kinds).toEqual(['stop-session', 'cancel-job']);
    expect(titles('').filter((title) => title.endsWith('…'))).toEqual([]);
    expect(titles('stop')[0]).toBe('Stop Träining…');
  });
});

describe('found files', () => {
  it('open in their folder, with any name', () => {
    const file = fileCommand({ root: 'home', path: 'a/b/\u202egpj<b>.exe', kind: 'file' });
    expect(file.title).toBe('\\u202egpj<b>.exe');
    expect(file.detail).toBe('a/b');
    expect(file.effect).toEqual({
      kind: 'files',
      search: { root: 'home', path: 'a/b', show: '\u202egpj<b>.exe' },
    });
    const top = fileCommand({ root: 'home', path: 'true', kind: 'file' });
    expect([top.detail, top.effect]).toEqual([
      'File',
      { kind: 'files', search: { root: 'home', show: 'true' } },
    ]);
    const folder = fileCommand({ root: 'home', path: 'a/b', kind: 'folder' });
    expect(folder.effect).toEqual({ kind: 'files', search: { root: 'home', path: 'a/b' } });
  });

  it('are explained when some may be missing', () => {
    expect(missingFilesTexts({ stopped: null, unreadable: 0 })).toEqual([]);
    for (const stopped of ['time', 'entries', 'found'] as const)
      expect(missingFilesTexts({ stopped, unreadable: 0 })).toHaveLength(1);
    expect(missingFilesTexts({ stopped: 'time', unreadable: 2 })[1]).toBe(
      '2 folders could not be searched: you may not read them.',
    );
  });

  it('are those below the folder on the page, else below the first root', () => {
    const search = { root: 'scratch', path: 'a', q: 'x' };
    expect(shownFolder({ pathname: '/files', search })).toEqual({ root: 'scratch', path: 'a' });
    expect(shownFolder({ pathname: '/files', search: {} })).toEqual({});
    expect(shownFolder({ pathname: '/jobs', search })).toEqual({});
  });
});

describe('keys', () => {
  it('work alone or as a sequence', () => {
    expect(press(NOTHING_PRESSED, '?', 0)[1]).toEqual({ kind: 'shortcuts' });
    const [first, nothing] = press(NOTHING_PRESSED, 'g', 100);
    expect(nothing).toBeNull();
    expect(press(first, 'j', 100 + TOGETHER_MS)[1]).toEqual({ kind: 'page', href: '/jobs' });
    expect(press(first, 'j', 101 + TOGETHER_MS)[1]).toBeNull();
    expect(press(first, 'x', 200)).toEqual([NOTHING_PRESSED, null]);
    expect(press(NOTHING_PRESSED, 'j', 0)[1]).toBeNull();
  });

  it('are unique', () => {
    const all = SHORTCUTS.map(({ keys }) => keys.join(' '));
    expect(new Set(all).size).toBe(all.length);
  });
});
