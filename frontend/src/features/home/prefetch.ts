/** The data that Home shows first. The page would move if it came later. */
import { myLimitsQuery } from '@/features/limits/queries';
import { recentSetupsQuery, setupsQuery } from '@/features/start/setups';
import { queryClient } from '@/lib/queries';

/** A page does not wait longer for the setups that it lists. */
const MAX_WAIT_MS = 1000;

/** Load the setups, usage and limits before the page is shown, unless that takes long. */
export async function prefetchHome(): Promise<void> {
  const cached = { staleTime: Number.POSITIVE_INFINITY };
  const loaded = Promise.all([
    queryClient.prefetchQuery({ ...setupsQuery, ...cached }),
    queryClient.prefetchQuery({ ...recentSetupsQuery, ...cached }),
    queryClient.prefetchQuery({ ...myLimitsQuery, ...cached }),
  ]);
  await Promise.race([loaded, new Promise((resolve) => setTimeout(resolve, MAX_WAIT_MS))]);
}
