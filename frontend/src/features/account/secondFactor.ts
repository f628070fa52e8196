/** The user's second factor: its query, its enrolment and its recovery codes. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';

export const secondFactorQuery = queryOptions({
  queryKey: ['second-factor'],
  queryFn: () => unwrap(api.GET('/api/v1/second-factor')),
  staleTime: 0,
});

export const beginEnrolment = () => unwrap(api.POST('/api/v1/second-factor/enrolment'));

export const confirmEnrolment = async (code: string): Promise<string[]> =>
  (await unwrap(api.POST('/api/v1/second-factor/confirm', { body: { code } }))).codes;

export const renewRecoveryCodes = async (code: string): Promise<string[]> =>
  (await unwrap(api.POST('/api/v1/second-factor/recovery-codes', { body: { code } }))).codes;

export const turnOffSecondFactor = (code: string): Promise<unknown> =>
  unwrap(api.POST('/api/v1/second-factor/turn-off', { body: { code } }));

/** Split a secret into groups of four, which are easier to type. */
export const formatSecret = (secret: string): string =>
  secret.match(/.{1,4}/g)?.join(' ') ?? secret;
