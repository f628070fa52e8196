/** The server's answer to a form's values while they are typed. */
import { useDebouncedValue } from '@mantine/hooks';
import { type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { SERVER_CHECK_DELAY_MS } from './typing';

export interface Answer<T> {
  /** the last answer, until the next one */
  answer: T | undefined;
  /** whether it is the answer to exactly these values */
  isCurrent: boolean;
  /** why there is no answer to them; the server then decides at submission */
  failure: Error | null;
  /** asks again: until the next answer, the last one is not current */
  askAgain: () => void;
}

/** Ask once the values have not changed for a moment. Changes to anything else that `query` depends on
 * are sent at once. */
export function useAnswer<V, T, K extends QueryKey>(
  values: V,
  query: (values: V) => UseQueryOptions<T, Error, T, K>,
): Answer<T> {
  const typed = JSON.stringify(values);
  const [settled] = useDebouncedValue(typed, SERVER_CHECK_DELAY_MS);
  const { data, error, isPlaceholderData, dataUpdatedAt, refetch } = useQuery(
    query(JSON.parse(settled) as V),
  );
  const [last, setLast] = useState(data);
  const [outdatedAt, setOutdatedAt] = useState(0);
  if (data !== undefined && data !== last) setLast(data);
  return {
    answer: data ?? last,
    isCurrent:
      typed === settled && data !== undefined && !isPlaceholderData && dataUpdatedAt > outdatedAt,
    failure: error,
    askAgain: () => {
      setOutdatedAt(Date.now());
      void refetch();
    },
  };
}
