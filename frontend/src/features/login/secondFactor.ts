/** The query of the user's second factor, and related errors. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { ApiError, errorMessage, fieldMessage } from '@/api/problem';

export const secondFactorQuery = queryOptions({
  queryKey: ['second-factor'],
  queryFn: () => unwrap(api.GET('/api/v1/second-factor')),
  staleTime: 0,
});

export const beginEnrolment = () => unwrap(api.POST('/api/v1/second-factor/enrolment'));

export const confirmEnrolment = async (code: string): Promise<string[]> =>
  (await unwrap(api.POST('/api/v1/second-factor/confirm', { body: { code } }))).codes;

export const renewCodes = async (code: string): Promise<string[]> =>
  (await unwrap(api.POST('/api/v1/second-factor/recovery-codes', { body: { code } }))).codes;

export const turnOff = (code: string): Promise<unknown> =>
  unwrap(api.POST('/api/v1/second-factor/turn-off', { body: { code } }));

const ENROLMENT_REQUIRED = 'second-factor-enrolment-required';

/** Return whether the error means that a second factor must be set up first. */
export const needsEnrolment = (error: unknown): boolean =>
  error instanceof ApiError && error.slug === ENROLMENT_REQUIRED;

/** Return the message at the field for a code. */
export const codeErrorMessage = (error: unknown): string =>
  fieldMessage(error, 'code') ?? errorMessage(error);

/** Split a secret into groups of four, which are easier to type. */
export const formatSecret = (secret: string): string =>
  secret.match(/.{1,4}/g)?.join(' ') ?? secret;
