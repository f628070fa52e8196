import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { mapQuery, nodesQuery } from './queries';
import type { ClusterSearch } from './search';

export type Nodes = ReturnType<typeof useNodes>;

/** Fetch the nodes for the page's address: short records for the map, or pages for the table. */
export function useNodes(search: ClusterSearch) {
  const isTable = search.view === 'table';
  const map = useQuery({ ...mapQuery(search), enabled: !isTable });
  const table = useInfiniteQuery({ ...nodesQuery(search), enabled: isTable });
  const { error, refetch } = isTable ? table : map;
  return {
    map,
    table,
    /** whether one of the two has arrived */
    isKnown: map.data !== undefined || table.data !== undefined,
    /** how many nodes match; undefined until it is known */
    matching: isTable ? table.data?.pages[0]?.matching : map.data?.nodes.length,
    error,
    refetch,
  };
}
