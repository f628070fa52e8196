import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { NodeRow } from './NodeRow';
import { NodeSkeletons } from './NodeSkeletons';

interface Props {
  /** the number of the cluster's nodes */
  count: number;
  /** when Slurm last reported a change of the nodes */
  changedAt: string | null;
}

const fewNodesQuery = (count: number, changedAt: string | null) =>
  queryOptions({
    queryKey: ['cluster', 'few', count, changedAt],
    queryFn: () =>
      unwrap(api.GET('/api/v1/cluster/nodes', { params: { query: { limit: count } } })),
    placeholderData: keepPreviousData,
  });

/** The nodes of a small cluster. */
export function FewNodes({ count, changedAt }: Props) {
  const { data } = useQuery(fewNodesQuery(count, changedAt));
  if (data === undefined) return <NodeSkeletons count={count} />;
  return (
    <ul>
      {data.items.map((node) => (
        <NodeRow key={node.name} node={node} />
      ))}
    </ul>
  );
}
