import { describe, expect, it } from 'vitest';
import { checkNewPassword } from './newPassword';

describe('a new password', () => {
  it('is looked at before the directory is asked', () => {
    expect(checkNewPassword('once', '', '')).toHaveProperty('fresh');
    expect(checkNewPassword('once', 'once', 'once').fresh).toMatch(/another/);
    expect(checkNewPassword('once', 'mine alone', 'mine alon')).toEqual({
      again: "The passwords don't match.",
    });
    expect(checkNewPassword('once', 'mine alone', 'mine alone')).toEqual({});
  });
});
