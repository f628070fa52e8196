/** Errors of logins with a second factor. Pure. */
import { ApiError, errorMessage, fieldMessage } from '@/api/problem';

const ENROLMENT_REQUIRED = 'second-factor-enrolment-required';

/** Return whether the error means that a second factor must be set up first. */
export const needsEnrolment = (error: unknown): boolean =>
  error instanceof ApiError && error.slug === ENROLMENT_REQUIRED;

/** Return the message at the field for a code. */
export const codeErrorMessage = (error: unknown): string =>
  fieldMessage(error, 'code') ?? errorMessage(error);
