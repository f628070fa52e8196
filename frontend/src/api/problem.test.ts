import { describe, expect, it } from 'vitest';
import { errorMessage, toApiError, wrongPassword } from './problem';

const refused = (title: string, slug = 'wrong-credentials') =>
  toApiError(401, { type: `urn:portal:${slug}`, title, detail: 'The portal’s words.' }, null);

describe('a wrong password', () => {
  it('is wrong when the response marks it', () => {
    expect(wrongPassword(refused('Wrong username or password'))).toMatch(/password is wrong/);
  });

  it('is not shown for a disabled account or other errors', () => {
    expect(wrongPassword(refused('This account is disabled'))).toBeUndefined();
    expect(wrongPassword(refused('This account is locked'))).toBeUndefined();
    expect(wrongPassword(refused('Login required', 'login-required'))).toBeUndefined();
    expect(wrongPassword(new TypeError('network'))).toBeUndefined();
  });
});

describe('an error of the portal', () => {
  const failed = (status: number, id: string | null) =>
    errorMessage(toApiError(status, { detail: 'It failed.' }, null, id));

  it('has the number under which the log explains it', () => {
    expect(failed(500, '1a2b')).toBe(
      'It failed. Report it to your administrators with this number: 1a2b',
    );
  });

  it('has none if it is a refusal, or not from the portal', () => {
    expect(failed(409, '1a2b')).toBe('It failed.');
    expect(failed(503, '1a2b')).toBe('It failed.');
    expect(failed(500, null)).toBe('It failed.');
  });
});
