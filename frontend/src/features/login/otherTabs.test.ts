import { describe, expect, it, vi } from 'vitest';
import type { LoggedIn } from '@/api/types';
import { toLoginEvent } from './otherTabs';

vi.hoisted(() => vi.stubGlobal('window', {}));

const BOB: LoggedIn = {
  id: 'b',
  username: 'bob',
  display_name: 'Bob',
  email: null,
  role: 'user',
  last_login_at: null,
  login_id: '0123456789abcdef',
  password_change_required: false,
  second_factor: 'none',
  second_factor_was_reset: false,
};

describe('the event that a login sends to other tabs', () => {
  it('is the user, once the login is complete', () => {
    expect(toLoginEvent(BOB)).toEqual({ kind: 'logged-in', username: 'bob' });
  });

  it('is the end of the previous login, while this one is incomplete', () => {
    const ended = { kind: 'ended' };
    expect(toLoginEvent({ ...BOB, second_factor: 'required' })).toEqual(ended);
    expect(toLoginEvent({ ...BOB, second_factor: 'enrolment-required' })).toEqual(ended);
    expect(toLoginEvent({ ...BOB, password_change_required: true })).toEqual(ended);
  });
});
