import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { Cluster } from '@/api/types';
import { choicesQuery } from '@/features/estimates/queries';
import type { Purpose } from './completion';
import { toResources } from './draft';
import type { Draft } from './requestedResources';
import { choicesToAsk, waitTexts } from './waits';

const TYPED_MS = 700;

/** Return the expected wait of each choice, as text: those that must wait are estimated by Slurm, in
 * one request, once their purpose is known. */
export function useWaits(
  drafts: readonly Draft[],
  cluster: Cluster,
  purpose: Purpose | undefined,
): string[] {
  const asked = choicesToAsk(drafts, cluster);
  const body = { ...purpose, choices: asked.map((draft) => toResources(draft) ?? {}) };
  const [settled] = useDebouncedValue(JSON.stringify(body), TYPED_MS);
  const { data, error, isPlaceholderData } = useQuery({
    ...choicesQuery(JSON.parse(settled) as typeof body),
    enabled: asked.length > 0 && purpose !== undefined,
  });
  const isCurrent = settled === JSON.stringify(body) && !isPlaceholderData;
  return waitTexts(drafts, cluster, error ? [] : isCurrent ? data?.items : undefined);
}
