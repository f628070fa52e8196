import { describe, expect, it } from 'vitest';
import { toApiError, wrongPassword } from './problem';

const refused = (title: string, slug = 'wrong-credentials') =>
  toApiError(401, { type: `urn:portal:${slug}`, title, detail: 'The portal’s words.' }, null);

describe('a password given again', () => {
  it('is wrong when the response marks it', () => {
    expect(wrongPassword(refused('Wrong username or password'))).toMatch(/password is wrong/);
  });

  it('isn’t blamed for an account that is closed, or for anything else', () => {
    expect(wrongPassword(refused('This account is disabled'))).toBeUndefined();
    expect(wrongPassword(refused('This account is locked'))).toBeUndefined();
    expect(wrongPassword(refused('Login required', 'login-required'))).toBeUndefined();
    expect(wrongPassword(new TypeError('network'))).toBeUndefined();
  });
});
