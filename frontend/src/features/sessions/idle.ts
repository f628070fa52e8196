/** Text for a session in which nothing has run for a long time. Pure. */
import { t } from '@lingui/core/macro';
import type { Session } from '@/api/types';
import { joinWithAnd } from '@/i18n/lists';
import { cpuCountText, gpuCountText } from '@/lib/resourceLabels';
import { duration } from '@/lib/time';

type Idle = Pick<Session, 'state' | 'idle_since' | 'resources'>;

/** Return a sentence such as "Idle for 1 h: it holds 1 GPU and 4 CPUs that others could use."; null if
 * the session has not been idle for a long time, or its owner has chosen to keep it since (`keptAtMs`). */
export function idleText(
  session: Idle,
  nowMs: number,
  keptAtMs: number | null = null,
): string | null {
  const { state, idle_since: since, resources } = session;
  if (state !== 'running' || since === null) return null;
  if (keptAtMs !== null && keptAtMs > Date.parse(since)) return null;
  const { gpus, cpus } = resources;
  const resourcesText = joinWithAnd([
    ...(gpus > 0 ? [gpuCountText(gpus)] : []),
    cpuCountText(cpus),
  ]);
  const time = duration(nowMs - Date.parse(since));
  return t`Idle for ${time}: it holds ${{ held: resourcesText }} that others could use.`;
}
