import { describe, expect, it } from 'vitest';
import { newPasswordProblems } from './newPassword';

describe('a new password', () => {
  it('is looked at before the directory is asked', () => {
    expect(newPasswordProblems('once', '', '')).toHaveProperty('fresh');
    expect(newPasswordProblems('once', 'once', 'once').fresh).toMatch(/another/);
    expect(newPasswordProblems('once', 'mine alone', 'mine alon')).toEqual({
      again: 'The passwords don’t match.',
    });
    expect(newPasswordProblems('once', 'mine alone', 'mine alone')).toEqual({});
  });
});
