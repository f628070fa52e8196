/** A session's usage as sentences. Pure. */
import { t } from '@lingui/core/macro';
import type { Session, Usage } from '@/api/types';
import { memoryText } from '@/lib/sizes';
import { duration } from '@/lib/time';
import type { SessionUsage } from './types';

/** Usage reported longer ago than this, while the session runs, is stale. */
const OLD_MS = 120_000;

type Requested = Pick<Session['resources'], 'memory_gb'>;

/** Return a note if nothing is drawn yet, or if the data is stale. */
export function usageNote(
  usage: SessionUsage,
  session: Pick<Session, 'state'>,
  nowMs: number,
): string | null {
  const ended = session.state === 'ended';
  if (usage.at.length === 0) {
    if (ended) return t`No usage was measured while it ran.`;
    return t`The first measurements appear half a minute after JupyterLab starts.`;
  }
  const age = usage.reported_at === null ? 0 : nowMs - Date.parse(usage.reported_at);
  if (session.state === 'running' && age > OLD_MS)
    return t`No new data from its node for ${{ time: duration(age) }}.`;
  return null;
}

/** Return the totals from Slurm's accounting after the end; unknown ones are omitted. */
export function totals(total: Usage, requested: Requested): [label: string, value: string][] {
  const rows: [string, string][] = [];
  if (total.elapsed_s != null) rows.push([t`Time`, duration(total.elapsed_s * 1000)]);
  if (total.memory_too_short) rows.push([t`Peak memory`, t`too short to measure`]);
  else if (total.max_rss_gb != null) {
    const most = memoryText(total.max_rss_gb);
    rows.push([
      t`Peak memory`,
      requested.memory_gb ? t`${most} of ${{ asked: memoryText(requested.memory_gb) }}` : most,
    ]);
  }
  if (total.cpu_s != null) rows.push([t`CPU time`, duration(total.cpu_s * 1000)]);
  if (total.cpu_efficiency != null)
    rows.push([t`CPU utilization`, `${Math.round(total.cpu_efficiency * 100)} %`]);
  return rows;
}
