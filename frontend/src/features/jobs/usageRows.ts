/** The usage of a job's requested resources, as numbers and as sentences. Pure. */
import { t } from '@lingui/core/macro';
import type { Job, JobDetail, Usage } from '@/api/types';
import { memoryText } from '@/lib/sizes';
import { duration, minutesAsTime } from '@/lib/time';

export interface UsageRow {
  label: string;
  /** "3.1 GB of 16 GB" */
  text: string;
  /** fraction of the request, 0 to 1; null if unknown */
  share: number | null;
}

type AccountedJob = Pick<
  JobDetail,
  'usage' | 'resources' | 'outcome' | 'state' | 'array' | 'started_at'
>;

/** Accounting samples at intervals: it may have no data for a job shorter than this. */
const MEASURED_S = 30;

const shareOf = (used: number, requested: number | null): number | null =>
  requested === null || requested <= 0 ? null : Math.min(1, used / requested);

/** Return the average number of CPUs in use on one node; null if accounting has no data. */
export function cpusInUse({ usage, resources }: Pick<Job, 'usage' | 'resources'>): number | null {
  if (usage?.cpu_s == null || !usage.elapsed_s) return null;
  return usage.cpu_s / usage.elapsed_s / Math.max(1, resources.nodes);
}

/** Format a number of CPUs: "1.2", "0.03". */
const cpus = (count: number): string => `${Number(count.toFixed(count < 0.1 ? 2 : 1))}`;

/** Format a percentage: "19 %", "under 1 %". */
export const shareText = (share: number): string =>
  share > 0 && share < 0.01 ? t`under 1 %` : t`${{ percent: Math.round(share * 100) }} %`;

const ofText = (used: string, asked: string): string => t`${used} of ${asked}`;

/** Return the rows of the table, as far as accounting has data. */
export function usageRows(job: AccountedJob): UsageRow[] {
  const { usage, resources } = job;
  if (usage === null) return [];
  const rows: UsageRow[] = [];
  const longest = usage.longest_s ?? (job.array === null ? usage.elapsed_s : null);
  if (longest != null) {
    const limit = resources.time_limit_minutes;
    const took = duration(longest * 1000);
    rows.push({
      label: job.array === null ? t`Time` : t`Time of its longest task`,
      text: limit === null ? took : ofText(took, minutesAsTime(limit)),
      share: shareOf(longest / 60, limit),
    });
  }
  const busy = cpusInUse(job);
  if (busy !== null)
    rows.push({
      label: t`CPU utilization`,
      text: ofText(cpus(busy), `${resources.cpus}`),
      share: shareOf(busy, resources.cpus),
    });
  return [...rows, ...memoryRows(usage, resources.memory_gb)];
}

function memoryRows(usage: Usage, requested: number | null): UsageRow[] {
  const label = t`Peak memory`;
  if (usage.memory_too_short) return [{ label, text: t`too short to measure`, share: null }];
  if (usage.max_rss_gb == null) return [];
  const most = memoryText(usage.max_rss_gb);
  const text = requested === null ? most : ofText(most, memoryText(requested));
  return [{ label, text, share: shareOf(usage.max_rss_gb, requested) }];
}

/** Return suggestions for the next run, the most important first; empty if it was well sized. */
export function suggestionTexts(job: AccountedJob): string[] {
  const { usage, resources, outcome } = job;
  if (usage === null || job.state !== 'ended') return [];
  const texts: string[] = [];
  // NaN is neither long nor short: without a known time there is no suggestion about it.
  const longest = usage.longest_s ?? usage.elapsed_s ?? Number.NaN;
  const measured = longest >= MEASURED_S;
  const memory = usage.max_rss_gb == null ? null : shareOf(usage.max_rss_gb, resources.memory_gb);
  const busy = cpusInUse(job);
  if (outcome === 'out_of_memory') texts.push(t`It needs more memory than it requested.`);
  else if (measured && memory !== null && memory >= 0.9)
    texts.push(t`It used almost all of its memory. Request a little more next time.`);
  else if (measured && memory !== null && memory < 0.5 && (resources.memory_gb ?? 0) > 1)
    texts.push(t`It used less than half of its memory. With less, the next job may start sooner.`);
  if (measured && busy !== null && resources.cpus > 1 && busy < resources.cpus / 2)
    texts.push(t`More than half of its CPUs were idle. With fewer, the next job may start sooner.`);
  const limit = resources.time_limit_minutes;
  if (outcome === 'timeout') texts.push(t`It needs a longer time limit.`);
  else if (outcome === 'completed' && limit !== null && limit > 30 && longest / 60 < limit / 4)
    texts.push(
      t`It used less than a quarter of its time limit. With a shorter limit, the next job may start sooner.`,
    );
  return texts;
}

/** Return which usage is unknown, and why; null if all is known. */
export function unknownText(job: AccountedJob): string | null {
  if (job.started_at === null) return null;
  if (job.usage === null)
    return job.state === 'ended'
      ? t`Slurm's accounting has not reported its usage yet.`
      : t`Slurm's accounting reports its usage after it ends.`;
  return job.resources.gpus > 0 ? t`Slurm's accounting has no data on GPU utilization.` : null;
}
