import { describe, expect, it } from 'vitest';
import { ApiError } from '@/api/problem';
import { loginErrorMessage } from './loginErrorMessage';

const apiError = (slug: string, retryAfterS: number | null = null, fields: string[] = []) =>
  new ApiError(
    400,
    slug,
    "The portal's words.",
    fields.map((field) => ({ field, message: 'No.' })),
    retryAfterS,
  );

describe('loginErrorMessage', () => {
  it("shows the portal's message", () => {
    expect(loginErrorMessage(null, 0)).toBeNull();
    expect(loginErrorMessage(apiError('wrong-credentials'), 0)).toBe("The portal's words.");
    expect(loginErrorMessage(apiError('directory-unavailable'), 0)).toBe("The portal's words.");
    expect(loginErrorMessage(new TypeError('network'), 0)).toMatch(/doesn't answer/);
  });

  it('counts down to the next attempt', () => {
    const error = apiError('too-many-attempts', 95);
    expect(loginErrorMessage(error, 95)).toMatch(/in 1:35 min\.$/);
    expect(loginErrorMessage(error, 0)).toMatch(/may try again now/);
    expect(loginErrorMessage(apiError('too-many-attempts'), 0)).toBe("The portal's words.");
  });

  it('is null for errors of a field', () => {
    expect(loginErrorMessage(apiError('invalid-input', null, ['password']), 0)).toBeNull();
  });
});
