import { describe, expect, it } from 'vitest';
import { ApiError } from '@/api/problem';
import { loginRefusal } from './refusal';

const refused = (slug: string, retryAfterS: number | null = null, fields: string[] = []) =>
  new ApiError(
    400,
    slug,
    'The portal’s words.',
    fields.map((field) => ({ field, message: 'No.' })),
    retryAfterS,
  );

describe('loginRefusal', () => {
  it('shows the portal’s message', () => {
    expect(loginRefusal(null, 0)).toBeNull();
    expect(loginRefusal(refused('wrong-credentials'), 0)).toBe('The portal’s words.');
    expect(loginRefusal(refused('directory-unavailable'), 0)).toBe('The portal’s words.');
    expect(loginRefusal(new TypeError('network'), 0)).toMatch(/doesn't answer/);
  });

  it('counts down to the next attempt', () => {
    const error = refused('too-many-attempts', 95);
    expect(loginRefusal(error, 95)).toMatch(/in 1:35 min\.$/);
    expect(loginRefusal(error, 0)).toMatch(/may try again now/);
    expect(loginRefusal(refused('too-many-attempts'), 0)).toBe('The portal’s words.');
  });

  it('is null for errors of a field', () => {
    expect(loginRefusal(refused('invalid-input', null, ['password']), 0)).toBeNull();
  });
});
