import { useQuery } from '@tanstack/react-query';
import { preferencesQuery, useSavePreferences } from '@/features/preferences/preferences';
import type { JobsView } from './views';

export interface TablePreferences {
  loading: boolean;
  /** the ids of the chosen columns; null: the default ones */
  columns: readonly string[] | null;
  views: readonly JobsView[];
  setColumns: (columns: readonly string[] | null) => void;
  /** resolves once the portal has stored them */
  setViews: (views: readonly JobsView[]) => Promise<unknown>;
}

/** The user's columns and views of the table of jobs. */
export function useTablePreferences(): TablePreferences {
  const { data, isPending } = useQuery(preferencesQuery);
  const { mutate, mutateAsync } = useSavePreferences();
  return {
    loading: isPending,
    columns: data?.jobs_table.columns ?? null,
    views: data?.jobs_table.views ?? [],
    setColumns: (columns) =>
      mutate({ jobs_table: { columns: columns === null ? null : [...columns] } }),
    setViews: (views) => mutateAsync({ jobs_table: { views: [...views] } }),
  };
}
