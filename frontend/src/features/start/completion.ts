/** The portal completes what a form asks for, by the rule that completes a submission. */
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { Resources } from '@/api/types';
import { type NamedResources, toSend } from './requestedResources';

/** For a job of a template, or a session or script in an environment. */
export interface Purpose {
  template?: string;
  environment?: string;
}

export interface Completed {
  asked: NamedResources;
  resources: Resources;
}

const FRESH_MS = 30_000;

export const completionQuery = (purpose: Purpose, asked: readonly NamedResources[]) =>
  queryOptions({
    queryKey: ['resources', purpose, asked],
    queryFn: async (): Promise<Completed[]> => {
      const body = { ...purpose, requests: asked.map(toSend) };
      const { items } = await unwrap(api.POST('/api/v1/resources', { body }));
      return items.map((resources, at) => ({ asked: asked[at] ?? {}, resources }));
    },
    staleTime: FRESH_MS,
    retry: false,
    placeholderData: keepPreviousData,
  });

export interface Completion {
  /** the last answer; `asked` is what it was about */
  completed: Completed;
  /** the answer to what is asked now is not there yet */
  pending: boolean;
}

/** One request, completed; `first` until the portal has answered. */
export function useCompletion(
  purpose: Purpose,
  asked: NamedResources,
  first: Resources,
): Completion {
  const { data, isPlaceholderData } = useQuery(completionQuery(purpose, [asked]));
  const completed = data?.[0];
  return completed === undefined
    ? { completed: { asked: {}, resources: first }, pending: true }
    : { completed, pending: isPlaceholderData };
}
