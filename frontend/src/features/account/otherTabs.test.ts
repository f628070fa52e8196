import { describe, expect, it, vi } from 'vitest';
import type { LoggedIn } from '@/api/types';
import { newsOf } from './otherTabs';

vi.hoisted(() => vi.stubGlobal('window', {}));

const BOB: LoggedIn = {
  id: 'b',
  username: 'bob',
  display_name: 'Bob',
  email: null,
  role: 'user',
  last_login_at: null,
  password_change_required: false,
  second_factor: 'none',
  second_factor_was_reset: false,
};

describe('what other tabs are told of a login', () => {
  it('is who has logged in, once the login is whole', () => {
    expect(newsOf(BOB)).toEqual({ kind: 'logged-in', username: 'bob' });
  });

  it('is the end of the login before, while more is asked for', () => {
    const ended = { kind: 'ended' };
    expect(newsOf({ ...BOB, second_factor: 'required' })).toEqual(ended);
    expect(newsOf({ ...BOB, second_factor: 'enrolment-required' })).toEqual(ended);
    expect(newsOf({ ...BOB, password_change_required: true })).toEqual(ended);
  });
});
