import { describe, expect, it } from 'vitest';
import { newPasswordProblems } from './newPassword';

describe('a new password', () => {
  it('is looked at before the directory is asked', () => {
    expect(newPasswordProblems('once', '', '')).toHaveProperty('fresh');
    expect(newPasswordProblems('once', 'once', 'once').fresh).toMatch(/another/);
    expect(newPasswordProblems('once', 'mine alone', 'mine alon')).toEqual({
      again: 'The two are not the same.',
    });
    expect(newPasswordProblems('once', 'mine alone', 'mine alone')).toEqual({});
    const [most, more] = ['x'.repeat(1024), 'x'.repeat(1025)];
    expect(newPasswordProblems('once', most, most)).toEqual({});
    expect(newPasswordProblems('once', more, more)).toHaveProperty('fresh');
  });
});
