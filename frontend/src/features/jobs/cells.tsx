/** The contents of the cells of the table of jobs. */
import { t } from '@lingui/core/macro';
import type { ReactNode } from 'react';
import type { Job } from '@/api/types';
import { useTrend } from '@/features/measurements/recentUsage';
import { currentPercent } from '@/features/measurements/trend';
import { translate, translateExact } from '@/i18n/translate';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { gpuRequestText } from '@/lib/resourceLabels';
import { memoryText } from '@/lib/sizes';
import { duration, utcTime } from '@/lib/time';
import { useDerivedNow } from '@/lib/useNow';
import { Icon } from '@/ui/icons';
import { metricText } from '@/ui/metricText';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { UsedBar } from '@/ui/UsedBar';
import { metricOf, parameterOf } from './columnValues';
import classes from './JobTable.module.css';
import {
  jobReason,
  jobStateLabel,
  nodeNamesText,
  parameterText,
  requestedTexts,
  templateText,
} from './labels';
import { cpusInUse, shareText } from './usageRows';

interface Content {
  shown: ReactNode;
  /** the full text, if the cell may cut it off */
  title?: string | undefined;
}

const NOTHING: Content = { shown: <span className={classes.none}>–</span> };

/** User content in one line: control characters and those that reverse the text are escaped. */
function text(value: string | number | null | undefined): Content {
  if (value === null || value === undefined || value === '') return NOTHING;
  const line = escapeInvisible(String(value));
  return { shown: line, title: line };
}

const time = (at: string | null): Content =>
  at === null ? NOTHING : { shown: <Time at={at} relative /> };

function share(used: number | null, requested: number | null, title: string): Content {
  if (used === null || requested === null || requested <= 0) return NOTHING;
  const part = Math.min(1, used / requested);
  const shown = (
    <span className={classes.share}>
      <UsedBar used={part} total={1} level="fine" />
      {shareText(part)}
    </span>
  );
  return { shown, title };
}

function memory({ usage, resources }: Job): Content {
  const used = usage?.max_rss_gb ?? null;
  const asked = resources.memory_gb;
  if (used === null || asked === null) return NOTHING;
  return share(used, asked, t`${{ used: memoryText(used) }} of ${{ asked: memoryText(asked) }}`);
}

function cpu(job: Job): Content {
  const used = cpusInUse(job);
  const asked = job.resources.cpus;
  if (used === null) return NOTHING;
  return share(used, asked, t`${{ used: Number(used.toFixed(2)) }} of ${{ asked }}`);
}

function state(job: Job): Content {
  const stale = job.stale_since !== null && job.state !== 'ended' ? job.stale_since : null;
  const why =
    stale && t`Last known state: Slurm has not responded since ${{ time: utcTime(stale) }}.`;
  return {
    shown: (
      <>
        <StateChip {...jobStateLabel(job)} />
        {why && (
          <span className={classes.stale} role="img" aria-label={why}>
            <Icon name="alert" size={16} />
          </span>
        )}
      </>
    ),
    title: why ?? undefined,
  };
}

function reason(job: Job): Content {
  const why = jobReason(job);
  if (why === null || job.state === 'running') return NOTHING;
  const line = escapeInvisible(why);
  return { shown: line, title: [line, translate(job.suggestion)].filter(Boolean).join(' ') };
}

/** The current utilization of an active job's GPUs. */
function GpuUse({ job }: { job: Job }) {
  const { trend } = useTrend(job.id);
  const now = trend?.resource === 'gpu' ? currentPercent(trend) : null;
  return share(now, 100, '').shown;
}

/** The mean of an ended job, which is stored, or the current one of an active job, which is polled. */
function gpuContent(job: Job): Content {
  if (job.resources.gpus === 0) return NOTHING;
  if (job.state === 'ended') return share(job.gpu_percent ?? null, 100, '');
  return { shown: <GpuUse job={job} /> };
}

/** The time that a job has run. */
function Duration({ job }: { job: Job }) {
  const { started_at: started, ended_at: ended } = job;
  const now = useDerivedNow((ms) => (started !== null && ended === null ? ms : 0));
  if (started === null || job.state === 'queued') return NOTHING.shown;
  return duration((ended === null ? now : Date.parse(ended)) - Date.parse(started));
}

/** The requested resources without "no GPU", which most rows would begin with. */
function resourcesText(job: Job): string {
  const noGpu = gpuRequestText({ gpus: 0 });
  return requestedTexts(job)
    .filter((each) => each !== noGpu)
    .join(' · ');
}

const CONTENTS: Readonly<Record<string, (job: Job, title: string | undefined) => Content>> = {
  state,
  template: (job, title) => text(templateText(job, title)),
  submitted: (job) => time(job.submitted_at),
  started: (job) => time(job.started_at),
  ended: (job) => time(job.ended_at),
  duration: (job) => ({ shown: <Duration job={job} /> }),
  resources: (job) => text(resourcesText(job)),
  gpus: (job) => (job.resources.gpus > 0 ? text(gpuRequestText(job.resources)) : NOTHING),
  memory,
  cpu,
  gpu: gpuContent,
  node: (job) => text(nodeNamesText(job)),
  partition: (job) => text(job.resources.partition),
  reason,
  exit: (job) => text(job.exit_code),
  environment: (job) => text(job.environment_title && translateExact(job.environment_title)),
  number: (job) => text(job.job_id),
};

const metricContent = (metrics: Readonly<Record<string, number | null>>, tag: string): Content =>
  Object.hasOwn(metrics, tag) ? text(metricText(metrics[tag])) : NOTHING;

/** Return the content of a job's cell. `title` is its template's. */
export function cellContent(id: string, job: Job, title: string | undefined): Content {
  const metric = metricOf(id);
  if (metric !== null) return metricContent(job.metrics ?? {}, metric);
  const parameter = parameterOf(id);
  if (parameter === null) return CONTENTS[id]?.(job, title) ?? NOTHING;
  const value = Object.hasOwn(job.parameters, parameter) ? job.parameters[parameter] : null;
  return text(parameterText(value).replace(/^–$/, ''));
}
