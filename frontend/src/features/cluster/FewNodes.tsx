import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { NodeRow } from './NodeRow';
import { NodeSkeletons } from './NodeSkeletons';
import { FEW_NODES } from './nodes';

interface Props {
  count: number;
  /** when Slurm last reported a change of the nodes */
  changedAt: string | null;
}

const fewNodesQuery = (changedAt: string | null) =>
  queryOptions({
    queryKey: ['cluster', 'few', changedAt],
    queryFn: () =>
      unwrap(api.GET('/api/v1/cluster/nodes', { params: { query: { limit: FEW_NODES } } })),
    placeholderData: keepPreviousData,
  });

/** The nodes of a small cluster. */
export function FewNodes({ count, changedAt }: Props) {
  const { data } = useQuery(fewNodesQuery(changedAt));
  if (data === undefined) return <NodeSkeletons count={count} />;
  return (
    <ul>
      {data.items.map((node) => (
        <NodeRow key={node.name} node={node} />
      ))}
    </ul>
  );
}
