import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { Cluster } from '@/api/types';
import { choicesQuery } from '@/features/estimates/queries';
import { SLURM_ESTIMATE_DELAY_MS } from '@/lib/typing';
import type { ResourceFormValues } from './requestedResources';
import type { Purpose } from './resolveResources';
import { toResources } from './values';
import { choicesToAsk, waitTexts } from './waits';

/** Return the expected wait of each choice, as text: those that must wait are estimated by Slurm, in
 * one request, once their purpose is known. */
export function useWaitTexts(
  choices: readonly ResourceFormValues[],
  cluster: Cluster,
  purpose: Purpose | undefined,
): string[] {
  const asked = choicesToAsk(choices, cluster);
  const body = { ...purpose, choices: asked.map((values) => toResources(values) ?? {}) };
  const [settled] = useDebouncedValue(JSON.stringify(body), SLURM_ESTIMATE_DELAY_MS);
  const { data, error, isPlaceholderData } = useQuery({
    ...choicesQuery(JSON.parse(settled) as typeof body),
    enabled: asked.length > 0 && purpose !== undefined,
  });
  const isCurrent = settled === JSON.stringify(body) && !isPlaceholderData;
  return waitTexts(choices, cluster, error ? [] : isCurrent ? data?.items : undefined);
}
