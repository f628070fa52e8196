import { describe, expect, it } from 'vitest';
import { can } from '@/features/directory/capabilities';
import { changes, formErrors, mergeEdit, toUserValues } from './edit';
import { asFilter } from './filters';
import {
  actionsFor,
  hasChangedUid,
  isDeleted,
  isDeprovisioning,
  missingCapabilities,
  roleReason,
  userStateLabel,
} from './labels';
import { suggestedUsername } from './suggest';
import type { Check, User, UserRow } from './types';

const ROW: UserRow = {
  username: 'ada',
  display_name: 'Ada Lovelace',
  email: 'ada@portal.test',
  uid: 20010,
  role: 'user',
  disabled: false,
  locked: false,
  groups: null,
  unmanaged: null,
  former_username: null,
  must_change_password: false,
  in_directory: true,
  known: true,
  admitted: true,
  last_login_at: '2026-11-22T05:00:00Z',
  user_id: 'u1',
  missing_since: null,
  deleted_at: null,
};

const YES: Check = { answer: 'yes', reason: '', fix: null, choices: [] };

describe('the state of a user', () => {
  it('warns about users in no login group', () => {
    const outside = { ...ROW, admitted: false, must_change_password: true };
    expect(userStateLabel(outside).label).toBe("Can't log in");
    const user = { role: 'user', directory_role: null, granted_role: null } as const;
    expect(roleReason({ ...user, granted_by: null, admitted: false })).toMatch(/can't log in/);
  });

  it('is the most important one', () => {
    expect(userStateLabel(ROW).label).toBe('Active');
    expect(userStateLabel({ ...ROW, locked: true, must_change_password: true }).label).toBe(
      'Locked',
    );
    expect(userStateLabel({ ...ROW, locked: true, disabled: true }).label).toBe('Disabled');
    expect(userStateLabel({ ...ROW, in_directory: false }).label).toBe(
      'Removed from the directory',
    );
    expect(
      userStateLabel({ ...ROW, disabled: true, deleted_at: '2026-11-22T05:00:00Z' }).label,
    ).toBe('Deleted');
  });

  it('has a filter that exists', () => {
    expect(asFilter('disabled')).toBe('disabled');
    expect(asFilter('everything')).toBe('all');
    expect(asFilter(undefined)).toBe('all');
  });
});

describe('a role', () => {
  const granted = { granted_role: null, granted_by: null, admitted: true } as const;
  it('names the source', () => {
    expect(roleReason({ role: 'admin', directory_role: 'admin', ...granted })).toMatch(/directory/);
    expect(
      roleReason({
        role: 'viewer',
        directory_role: 'user',
        granted_role: 'viewer',
        granted_by: 'carol',
        admitted: true,
      }),
    ).toBe('Granted here by carol.');
    expect(
      roleReason({
        role: 'admin',
        directory_role: 'admin',
        granted_role: 'admin',
        granted_by: 'carol',
        admitted: true,
      }),
    ).toMatch(/directory.*granted here by carol/);
  });
});

describe('missing capabilities', () => {
  it('are grouped by reason', () => {
    const missing = { create: 'It is read-only.', edit: 'It is read-only.', lock: 'No policy.' };
    expect(missingCapabilities({ missing })).toEqual([
      { action: 'create users or edit users', reason: 'It is read-only.' },
      { action: 'lock users', reason: 'No policy.' },
    ]);
    expect(can({ missing }, 'edit')).toBe(false);
    expect(can({ missing }, 'groups')).toBe(true);
    expect(missingCapabilities({ missing: {} })).toEqual([]);
  });
});

describe('actions for a user', () => {
  const user: User = {
    ...ROW,
    groups: ['physics'],
    given_name: 'Ada',
    surname: 'Lovelace',
    gid: 30000,
    primary_group: 'physics',
    readiness: { login: YES, session: YES, home: YES },
    home: '/home/ada',
    shell: '/bin/bash',
    manages: [],
    version: 'one',
    directory_problem: null,
    disabled_in_directory: false,
    directory_role: 'user',
    granted_role: null,
    granted_by: null,
    granted_at: null,
    disabled_by: null,
    disabled_why: null,
    disabled_at: null,
    disabled_jobs: null,
    deprovisioned_at: null,
    directory_wants: null,
    pending_steps: [],
    known_uid: 20010,
    created_at: null,
    second_factor: false,
    web_sessions: 0,
    tokens: 0,
    live: { sessions: 0, jobs: 0 },
    home_runs: [],
    home_tasks: [],
    capabilities: { kind: 'openldap', missing: {} },
  };

  it("depend on the user's state", () => {
    expect(actionsFor(user, 'carol')).toEqual(['edit', 'password', 'lock', 'disable', 'delete']);
    expect(actionsFor({ ...user, locked: true }, 'carol')).toContain('unlock');
    expect(actionsFor({ ...user, disabled: true }, 'carol')).toEqual(['edit', 'enable', 'delete']);
    expect(actionsFor({ ...user, in_directory: false }, 'carol')).toEqual(['disable', 'delete']);
    expect(actionsFor({ ...user, deleted_at: '2026-11-22T05:00:00Z' }, 'carol')).toEqual([]);
    expect(actionsFor({ ...user, directory_wants: 'deleted' }, 'carol')).toEqual([]);
    expect(actionsFor({ ...user, unmanaged: 'This is a system account.' }, 'carol')).toEqual([]);
  });

  it('do not include disabling oneself', () => {
    expect(actionsFor(user, 'ada')).toEqual(['edit', 'password']);
  });

  it("are limited to the directory's capabilities", () => {
    const why = 'It is read-only.';
    const missing = { create: why, edit: why, delete: why, groups: why, password: why, lock: why };
    const capabilities = { kind: 'active-directory', missing };
    expect(actionsFor({ ...user, capabilities }, 'carol')).toEqual(['disable', 'delete']);
    expect(actionsFor({ ...user, directory_problem: 'It is silent.' }, 'carol')).toEqual([
      'disable',
      'delete',
    ]);
  });

  it('exclude those whose effect is in progress', () => {
    expect(isDeleted(user)).toBe(false);
    expect(isDeleted({ deleted_at: null, directory_wants: 'deleted' })).toBe(true);
    expect(isDeprovisioning(user)).toBe(false);
    expect(isDeprovisioning({ pending_steps: ['1 session is being ended.'] })).toBe(true);
  });

  it('detects another uid with the same name', () => {
    expect(hasChangedUid(user)).toBe(false);
    expect(hasChangedUid({ ...user, uid: 20011 })).toBe(true);
    expect(hasChangedUid({ ...user, uid: 20011, directory_problem: 'It is silent.' })).toBe(false);
  });
});

describe('a suggested user name', () => {
  it('is valid for UNIX and Slurm', () => {
    expect(suggestedUsername('Ada', 'Lovelace')).toBe('alovelace');
    expect(suggestedUsername('Jürgen', 'Groß-Müller')).toBe('jgrossmuller');
    expect(suggestedUsername('Søren', 'Ærø')).toBe('saero');
    expect(suggestedUsername('', 'Łukasiewicz')).toBe('lukasiewicz');
    expect(suggestedUsername('Ada', 'x'.repeat(60))).toHaveLength(32);
  });

  it('is empty without names', () => {
    expect(suggestedUsername('Ada', '')).toBe('');
    expect(suggestedUsername('明', '王')).toBe('');
    expect(suggestedUsername('', '3com')).toBe('');
  });
});

describe('an edit', () => {
  const base: Pick<
    User,
    'given_name' | 'surname' | 'display_name' | 'email' | 'gid' | 'home' | 'shell' | 'version'
  > = {
    given_name: 'Ada',
    surname: 'Lovelace',
    display_name: 'Ada Lovelace',
    email: 'ada@portal.test',
    gid: 30000,
    home: '/home/ada',
    shell: '/bin/bash',
    version: 'one',
  };

  it('sends only the changed fields', () => {
    const draft = { ...toUserValues(base), email: '', gid: ' 30001 ', surname: 'Lovelace ' };
    expect(changes(base, draft)).toEqual({ email: '', gid: 30001 });
    expect(formErrors({ ...draft, gid: '3k' })).toEqual({ gid: 'Enter a number.' });
  });

  it('loses nothing when another user has saved since', () => {
    const draft = { ...toUserValues(base), email: 'mine@portal.test', surname: 'Byron' };
    const theirs = {
      ...base,
      email: 'theirs@portal.test',
      shell: '/bin/zsh',
      surname: 'Byron',
      version: 'two',
    };
    const merged = mergeEdit(base, draft, theirs);
    expect(merged.conflicts).toEqual({ email: 'theirs@portal.test' });
    expect(merged.taken).toEqual(['shell']);
    expect(merged.draft).toMatchObject({
      email: 'mine@portal.test',
      surname: 'Byron',
      shell: '/bin/zsh',
    });
    expect(changes(theirs, merged.draft)).toEqual({ email: 'mine@portal.test' });
  });
});
