import { describe, expect, it } from 'vitest';
import { checkText, MAX_BYTES, passwordsFile, reportText, shownRows, TEMPLATE } from './csv';
import { checkNewUser, EMPTY, homeOf, requestOf, usernameOf } from './newUser';
import type { ImportLine, NewUserDefaults } from './types';

const row = (line: number, result: ImportLine['result']): ImportLine => ({
  line,
  username: `p${line}`,
  result,
  findings: [],
  login_group: 'users',
  slurm_account: null,
  groups: ['users'],
  role: 'user',
});

const DEFAULTS: NewUserDefaults = {
  login_groups: ['users', 'guests'],
  login_group: 'users',
  accounts: ['research'],
  slurm_account: 'research',
  home_template: '/home/{username}',
  makes_home: true,
  limits: {},
};

describe('a file of users', () => {
  it('is checked before it is sent', () => {
    expect(checkText(' \n')).toMatch(/Choose a file/);
    expect(checkText(TEMPLATE)).toBeNull();
    expect(checkText('é'.repeat(MAX_BYTES / 2))).toMatch(/split it/);
  });

  it('lists its mistakes first', () => {
    const rows = [row(2, 'would_create'), row(3, 'exists'), row(5, 'error'), row(4, 'error')];
    expect(shownRows(rows, 'all').map(({ line }) => line)).toEqual([4, 5, 3, 2]);
    expect(shownRows(rows, 'fine').map(({ line }) => line)).toEqual([2]);
    expect(shownRows(rows, 'exists').map(({ line }) => line)).toEqual([3]);
  });

  it('is summarized in a sentence', () => {
    const counts = { total: 5, created: 2, exists: 1, failed: 2, dry_run: true };
    expect(reportText(counts)).toBe(
      '2 users would be created, 1 already exists and is unchanged, 2 lines have mistakes.',
    );
    expect(reportText({ total: 1, created: 1, exists: 0, failed: 0, dry_run: false })).toBe(
      '1 user was created.',
    );
  });

  it('exports passwords with special characters quoted', () => {
    const passwords = [
      { username: 'ada', password: 'a,"b', must_change: true },
      { username: 'bob', password: 'plain', must_change: true },
    ];
    expect(passwordsFile(passwords)).toBe(
      'username,one_time_password\r\nada,"a,""b"\r\nbob,plain\r\n',
    );
  });
});

describe('a new user', () => {
  it('has a suggested username until one is typed', () => {
    const values = { ...EMPTY, given_name: 'Ada', surname: 'Lovelace' };
    expect(usernameOf(values)).toBe('alovelace');
    expect(usernameOf({ ...values, username: '' })).toBe('');
    expect(usernameOf({ ...values, username: 'ada' })).toBe('ada');
  });

  it('omits empty fields, which the settings fill in', () => {
    const values = { ...EMPTY, given_name: ' Ada ', surname: 'Lovelace', uid: ' 20500 ' };
    expect(requestOf(values, DEFAULTS)).toEqual({
      username: 'alovelace',
      given_name: 'Ada',
      surname: 'Lovelace',
      display_name: '',
      groups: [],
      login_group: 'users',
      slurm_account: 'research',
      limits: {},
      uid: 20500,
    });
    expect(homeOf(values, DEFAULTS)).toBe('/home/alovelace');
    expect(checkNewUser(values)).toEqual({});
    expect(Object.keys(checkNewUser({ ...EMPTY, gid: 'x' }))).toEqual([
      'surname',
      'username',
      'gid',
    ]);
  });

  it('can have another group, no account, and limits of their own', () => {
    const limits = { gpus: '2', time_limit_minutes: '1.5', cpus: ' ' };
    const chosen = { login_group: 'guests', slurm_account: '', home: '/home/x', limits };
    expect(requestOf({ ...EMPTY, surname: 'X', ...chosen }, DEFAULTS)).toMatchObject({
      login_group: 'guests',
      slurm_account: null,
      home: '/home/x',
      limits: { gpus: 2, time_limit_minutes: 90 },
    });
    expect(checkNewUser({ ...EMPTY, limits: { gpus: 'two' } })).toHaveProperty('limits.gpus');
  });
});
