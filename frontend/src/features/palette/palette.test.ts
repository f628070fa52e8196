import { describe, expect, it } from 'vitest';
import type { Job, Me, Session } from '@/api/types';
import { allCommands, matching, searches } from './commands';
import { isTyping, NOTHING_PRESSED, press, SHORTCUTS, TOGETHER_MS } from './keys';

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
  matching(allCommands({ me, sessions, jobs: [job] }), text).map(({ title }) => title);

describe('the palette', () => {
  it('offers what runs before anything is typed', () => {
    expect(titles('')[0]).toBe('Open JupyterLab of Träining');
    expect(titles('')).toContain('Start a session');
    expect(titles('', alice, [])[0]).toBe('Start a session');
  });

  it('finds by parts of words, without case and accents, and by other words', () => {
    expect(titles('TRAIN')).toEqual(['Träining', 'Open JupyterLab of Träining']);
    expect(titles('new notebook')[0]).toBe('Start a session');
    expect(titles('4711')).toEqual(['finetune']);
    expect(titles('fine job')).toEqual(['finetune']);
    expect(titles('no such thing')).toEqual([]);
  });

  it('shows no address of a session that is over, and its page all the same', () => {
    const over = session({ state: 'ended', outcome: 'completed' });
    expect(titles('träining', alice, [over])).toEqual(['Träining']);
  });

  it("has the administrators' pages for those who see them", () => {
    expect(titles('audit')).toEqual([]);
    expect(titles('audit', carol)).toEqual(['Audit']);
    const [group] = matching(allCommands({ me: carol, sessions: null, jobs: null }), 'lab');
    expect(group?.does).toEqual({ kind: 'page', href: '/groups/lab%2Fml' });
  });

  it('has each thing once, and looks further where there is more', () => {
    const ids = allCommands({ me: carol, sessions: [session({})], jobs: [job] }).map((c) => c.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(searches(alice, ' ')).toEqual([]);
    expect(searches(alice, 'a&b').map((c) => c.id)).toEqual(['/jobs?q=a%26b']);
    expect(searches(carol, 'x').map((c) => c.id)).toEqual(['/jobs?q=x', '/admin/users?q=x']);
  });
});

describe('keys', () => {
  it('mean something alone or one after the other', () => {
    expect(press(NOTHING_PRESSED, '?', 0)[1]).toEqual({ kind: 'shortcuts' });
    const [first, nothing] = press(NOTHING_PRESSED, 'g', 100);
    expect(nothing).toBeNull();
    expect(press(first, 'j', 100 + TOGETHER_MS)[1]).toEqual({ kind: 'page', href: '/jobs' });
    expect(press(first, 'j', 101 + TOGETHER_MS)[1]).toBeNull();
    expect(press(first, 'x', 200)).toEqual([NOTHING_PRESSED, null]);
    expect(press(NOTHING_PRESSED, 'j', 0)[1]).toBeNull();
  });

  it('are each given once', () => {
    const all = SHORTCUTS.map(({ keys }) => keys.join(' '));
    expect(new Set(all).size).toBe(all.length);
  });

  it('are text in a field', () => {
    expect(isTyping('INPUT', null, false)).toBe(true);
    expect(isTyping('INPUT', 'search', false)).toBe(true);
    expect(isTyping('INPUT', 'checkbox', false)).toBe(false);
    expect(isTyping('SELECT', null, false)).toBe(true);
    expect(isTyping('DIV', null, true)).toBe(true);
    expect(isTyping('BUTTON', null, false)).toBe(false);
  });
});
