import { describe, expect, it } from 'vitest';
import { actionTone, groupByKind, summary, toLines } from './labels';
import { exportHref, readAuditSearch, toQuery, withFilter } from './search';

describe('the search', () => {
  it('is parsed from any address', () => {
    expect(
      readAuditSearch({
        q: 42,
        actor: ' carol ',
        action: '',
        from: 'yesterday',
        to: '2026-02-30x',
      }),
    ).toEqual({ q: '42', actor: 'carol' });
    expect(readAuditSearch({ from: '2026-11-01', to: '2026-13-45', ip: ['::1'] })).toEqual({
      from: '2026-11-01',
    });
  });

  it('drops a filter that is emptied', () => {
    expect(withFilter({ q: 'a', ip: '::1' }, 'ip', ' ')).toEqual({ q: 'a' });
  });

  it('includes whole days, to the end of the last', () => {
    const { from = '', to = '', query } = toQuery({ q: 'x', from: '2026-11-01', to: '2026-11-01' });
    expect(query).toBe('x');
    expect(new Date(from)).toEqual(new Date(2026, 10, 1));
    expect(new Date(to)).toEqual(new Date(2026, 10, 2));
  });

  it("is part of the download's address", () => {
    expect(exportHref({ q: 'a&b c', action: 'login' }, 'jsonl')).toBe(
      '/api/v1/admin/audit/export?format=jsonl&action=login&query=a%26b+c',
    );
  });
});

describe('an event', () => {
  it('is highlighted if it was refused', () => {
    expect(actionTone('login.failed')).toBe('bad');
    expect(actionTone('password.refused')).toBe('bad');
    expect(actionTone('login')).toBe('quiet');
  });

  it('is filtered by action, or by kind', () => {
    const action = (name: string) => ({ action: name, title: name });
    const kinds = groupByKind([
      action('session.stop'),
      action('login'),
      action('session.start'),
      action('login.failed'),
      action('second_factor.on'),
    ]);
    expect(kinds.map(({ name, all, actions }) => [name, all, actions.length])).toEqual([
      ['Login', null, 2],
      ['Two-factor authentication', null, 1],
      ['Session', 'session.', 2],
    ]);
  });
});

describe('details of an event', () => {
  it('shows changes from old to new, and the rest as it is', () => {
    const changes = [
      { field: 'gpus', old: null, new: 4 },
      { field: 'partitions', old: ['gpu'], new: [] },
      { field: 'gpus_by_type', old: { v100: 1 }, new: { v100: 2, a100: 1 } },
      { field: 'uid', old: 1, new: 2 },
      { field: 'ends_at', old: null, new: '2026-11-22T05:21:41.270000+00:00' },
    ];
    expect(
      toLines({ changes, detail: { uid: 'again', browser: '<b>Firefox</b>', forced: false } }),
    ).toEqual([
      { name: 'GPUs', old: '–', now: '4' },
      { name: 'Partitions', old: 'gpu', now: '–' },
      { name: 'GPUs by type', old: 'v100: 1', now: 'v100: 2, a100: 1' },
      { name: 'uid', old: '1', now: '2' },
      { name: 'Ends at', old: '–', now: '2026-11-22 05:21:41 UTC' },
      { name: 'Browser', now: '<b>Firefox</b>' },
      { name: 'Forced', now: 'no' },
    ]);
  });

  it("shows the reason of a refusal in words, and an administrator's as it was written", () => {
    const why = (reason: string) => summary({ changes: [], detail: { why: reason } });
    expect(why('WrongCredentials')).toBe('Why: Wrong password');
    expect(why('TooManyAttempts')).toBe('Why: Too many attempts');
    expect(why('no group')).toBe('Why: In no login group');
    expect(why('left on Friday')).toBe('Why: left on Friday');
    expect(why('constructor')).toBe('Why: constructor');
  });

  it('fits one line', () => {
    const changes = [{ field: 'email', old: 'a@x', new: 'b@x' }];
    expect(summary({ changes, detail: { id: '9c64-ca22', method: 'token' } })).toBe(
      'E-mail: a@x → b@x; Method: token',
    );
    expect(summary({ changes: [], detail: {} })).toBe('');
  });
});
