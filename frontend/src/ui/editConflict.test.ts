import { describe, expect, it } from 'vitest';
import { ApiError, toApiError } from '@/api/problem';
import { editConflictText } from './editConflict';

describe('the text of an edit conflict', () => {
  it('names the user who saved first', () => {
    const problem = {
      type: 'urn:portal:edit-conflict',
      detail: 'dora changed this.',
      changed_by: 'dora',
      changed_at: '2026-11-22T05:21:00Z',
    };
    expect(editConflictText(toApiError(409, problem, null), () => '05:21')).toMatch(
      /^dora has saved this since you opened it \(05:21\)\./,
    );
    expect(editConflictText(toApiError(409, { type: problem.type }, null), () => '05:21')).toMatch(
      /^Another user has saved this since you opened it\./,
    );
  });

  it('is null for other errors', () => {
    expect(editConflictText(new ApiError(409, 'conflict', 'No.'), () => '')).toBeNull();
    expect(editConflictText(new Error('x'), () => '')).toBeNull();
  });
});
