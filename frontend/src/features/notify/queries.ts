/** What one wants to be told, and whether e-mails reach one. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { queryClient } from '@/app/queries';

export const mailQuery = queryOptions({
  queryKey: ['my-mail'],
  queryFn: () => unwrap(api.GET('/api/v1/me/mail')),
});

/** Resolves once the mail server has taken it; how it went is asked anew either way. */
export async function sendTestMail(): Promise<void> {
  try {
    await unwrap(api.POST('/api/v1/me/mail/test'));
  } finally {
    await queryClient.invalidateQueries(mailQuery);
  }
}
