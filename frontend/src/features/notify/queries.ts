/** Queries of the mail settings, including whether e-mails reach the user. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { queryClient } from '@/lib/queries';

export const mailQuery = queryOptions({
  queryKey: ['my-mail'],
  queryFn: () => unwrap(api.GET('/api/v1/me/mail')),
});

/**
 * Send a test e-mail. Resolves once the mail server has accepted it; the result is refetched either
 * way.
 */
export async function sendTestMail(): Promise<void> {
  try {
    await unwrap(api.POST('/api/v1/me/mail/test'));
  } finally {
    await queryClient.invalidateQueries(mailQuery);
  }
}
