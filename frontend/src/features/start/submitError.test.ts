import { describe, expect, it } from 'vitest';
import { ApiError } from '@/api/problem';
import { resourceErrorsOf } from '@/features/resources/resourceErrors';
import { generalMessage } from './submitError';

describe('the messages of an error', () => {
  const fields = [{ field: 'resources.gpus', message: 'Too many.' }];

  it('is shown at its field only', () => {
    const error = new ApiError(422, 'invalid-input', 'Wrong.', fields);
    expect(resourceErrorsOf(error)).toEqual({ gpus: 'Too many.' });
    expect(generalMessage(error)).toBeNull();
  });

  it('is shown beside the button when the form has no field for it', () => {
    const withQos = [...fields, { field: 'resources.qos', message: 'No.' }];
    expect(generalMessage(new ApiError(422, 'invalid-input', 'Wrong.', withQos))).toBe('Wrong.');
    expect(generalMessage(new ApiError(409, 'home-unavailable', 'Home is full.'))).toBe(
      'Home is full.',
    );
    expect(generalMessage(null)).toBeNull();
  });
});
