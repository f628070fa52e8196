/** The site's own logo and tag line. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';

export const SITE_LOGO = '/api/v1/site/logo';

export const siteQuery = queryOptions({
  queryKey: ['site'],
  queryFn: () => unwrap(api.GET('/api/v1/site')),
  staleTime: Number.POSITIVE_INFINITY,
});
