/** The portal's error after the form was submitted. Pure. */
import { ApiError, errorMessage, fieldMessage } from '@/api/problem';
import { SESSION_FIELDS } from '@/features/resources/resourceErrors';

/** Return the message beside the button; null if the form's fields show all errors. */
export function generalMessage(error: unknown): string | null {
  if (error === null) return null;
  const shown = [...SESSION_FIELDS, 'name', 'starter'].filter(
    (f) => fieldMessage(error, f) !== undefined,
  );
  const allShown =
    error instanceof ApiError && shown.length > 0 && shown.length >= error.fields.length;
  return allShown ? null : errorMessage(error);
}
