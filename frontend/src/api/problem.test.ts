import { describe, expect, it } from 'vitest';
import { errorMessage, toApiError, wrongPassword } from './problem';

const apiError = (title: string, slug = 'wrong-credentials') =>
  toApiError(401, { type: `urn:portal:${slug}`, title, detail: "The portal's words." }, null);

describe('a wrong password', () => {
  it('is wrong when the response marks it', () => {
    expect(wrongPassword(apiError('Wrong username or password'))).toMatch(/password is wrong/);
  });

  it('is not shown for a disabled account or other errors', () => {
    expect(wrongPassword(apiError('This account is disabled'))).toBeUndefined();
    expect(wrongPassword(apiError('This account is locked'))).toBeUndefined();
    expect(wrongPassword(apiError('Login required', 'login-required'))).toBeUndefined();
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

  it('has none if it has another reason, or is not from the portal', () => {
    expect(failed(409, '1a2b')).toBe('It failed.');
    expect(failed(503, '1a2b')).toBe('It failed.');
    expect(failed(500, null)).toBe('It failed.');
  });
});
