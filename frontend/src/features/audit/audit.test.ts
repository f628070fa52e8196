import { describe, expect, it } from 'vitest';
import { exportHref, readAuditSearch, toQuery, withFilter } from './search';
import { actionTone, actionWords, byKind, detailLines, summary } from './words';

describe('what is searched for', () => {
  it('is read from the address, whatever stands there', () => {
    expect(
      readAuditSearch({ q: 42, actor: ' carol ', action: '', from: 'yesterday', to: '2026-02-30x' }),
    ).toEqual({ q: '42', actor: 'carol' });
    expect(readAuditSearch({ from: '2026-11-01', to: '2026-13-45', ip: ['::1'] })).toEqual({
      from: '2026-11-01',
    });
  });

  it('loses a filter that is emptied', () => {
    expect(withFilter({ q: 'a', ip: '::1' }, 'ip', ' ')).toEqual({ q: 'a' });
  });

  it('means whole days, to the end of the last', () => {
    const { from = '', to = '', query } = toQuery({ q: 'x', from: '2026-11-01', to: '2026-11-01' });
    expect(query).toBe('x');
    expect(new Date(from)).toEqual(new Date(2026, 10, 1));
    expect(new Date(to)).toEqual(new Date(2026, 10, 2));
  });

  it('goes into the download as it is', () => {
    expect(exportHref({ q: 'a&b c', action: 'login' }, 'jsonl')).toBe(
      '/api/v1/admin/audit/export?format=jsonl&action=login&query=a%26b+c',
    );
  });
});

describe('an event', () => {
  it.each([
    ['login', 'Login'],
    ['login.failed', 'Login: failed'],
    ['session.stop_by_admin', 'Session: stop by admin'],
    ['second_factor.on', 'Second factor: on'],
    ['tensorboard.start', 'TensorBoard: start'],
    ['something.quite_new', 'Something: quite new'],
  ])('%s reads %s', (action, words) => {
    expect(actionWords(action)).toBe(words);
  });

  it('stands out when it was refused', () => {
    expect(actionTone('login.failed')).toBe('bad');
    expect(actionTone('password.refused')).toBe('bad');
    expect(actionTone('login')).toBe('quiet');
  });

  it('is chosen by what it is about', () => {
    expect(byKind(['session.stop', 'login', 'session.start', 'login.failed'])).toEqual([
      { group: 'Login', actions: ['login', 'login.failed'] },
      { group: 'Session', actions: ['session.start', 'session.stop'] },
    ]);
  });
});

describe('what an event says besides', () => {
  it('shows changes from old to new, and the rest as it is', () => {
    expect(
      detailLines({
        gpus: { old: null, new: 4 },
        partitions: { old: ['gpu'], new: [] },
        browser: '<b>Firefox</b>',
        gpus_by_type: { old: { v100: 1 }, new: { v100: 2, a100: 1 } },
        forced: false,
      }),
    ).toEqual([
      { name: 'GPUs', old: '–', now: '4' },
      { name: 'Partitions', old: 'gpu', now: '–' },
      { name: 'Browser', now: '<b>Firefox</b>' },
      { name: 'GPUs by type', old: 'v100: 1', now: 'v100: 2, a100: 1' },
      { name: 'Forced', now: 'no' },
    ]);
  });

  it('fits one line', () => {
    expect(summary({ email: { old: 'a@x', new: 'b@x' }, token: 'ci' })).toBe(
      'Email: a@x → b@x; Token: ci',
    );
    expect(summary({})).toBe('');
  });
});
