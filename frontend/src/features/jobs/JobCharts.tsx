import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { NativeSelect, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { JobDetail } from '@/api/types';
import { missingChartTexts, usageCharts } from '@/features/measurements/charts';
import { UsageCharts } from '@/features/measurements/UsageCharts';
import { useNow } from '@/lib/useNow';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { TryAgain } from '@/ui/TryAgain';
import classes from './JobUsage.module.css';
import {
  isDrawable,
  type JobUsageOverTime,
  jobUsageQuery,
  overTimeNote,
  refreshInterval,
} from './overTime';

/** Charts of a started job's usage over time; of one task, if it is an array. */
export function JobCharts({ job }: { job: JobDetail }) {
  const started = job.array?.tasks.filter(({ node }) => node !== null) ?? [];
  const [chosen, setChosen] = useState<number | null>(null);
  const task = job.array === null ? undefined : (chosen ?? started[0]?.index);
  if (job.external)
    return (
      <p className={classes.note}>
        <Trans>
          Its usage over time was not measured, because it was submitted outside the portal.
        </Trans>
      </p>
    );
  if (job.array !== null && task === undefined) return null;
  return (
    <div className={classes.overTime}>
      {job.array !== null && (
        <NativeSelect
          className={classes.task}
          label={t`Usage over time of task`}
          value={task}
          data={started.map(({ index }) => String(index))}
          onChange={({ currentTarget }) => setChosen(Number(currentTarget.value))}
        />
      )}
      <Charts key={task} job={job} task={task} />
    </div>
  );
}

/** Return what was measured: the job, or a task's state with the job's times, as its own are unknown. */
function toMeasuredJob(job: JobDetail, task: number | undefined) {
  const own = job.array?.tasks.find(({ index }) => index === task);
  return { state: own?.state ?? job.state, started_at: job.started_at, ended_at: job.ended_at };
}

function Charts({ job, task }: { job: JobDetail; task: number | undefined }) {
  const now = useNow();
  const { data, error, refetch } = useQuery({
    ...jobUsageQuery(job.id, task),
    refetchInterval: ({ state }) => refreshInterval(job, state.data, Date.now()),
  });
  if (data === undefined)
    return error ? (
      <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />
    ) : (
      <Skeleton height={190} aria-label={t`Loading`} />
    );
  const note = overTimeNote(toMeasuredJob(job, task), data, now);
  return (
    <>
      {isDrawable(data) && <Measured job={job} task={task} usage={data} />}
      {note && <p className={classes.note}>{note}</p>}
    </>
  );
}

interface MeasuredProps {
  job: JobDetail;
  task: number | undefined;
  usage: JobUsageOverTime;
}

function Measured({ job, task, usage }: MeasuredProps) {
  const { cpus, memory_gb, gpus } = job.resources;
  const { state } = toMeasuredJob(job, task);
  const isRunning = state === 'running' || state === 'suspended';
  const nodes = useMemo(
    () => (usage.nodes.length === 1 ? usage.nodes.map(withoutName) : usage.nodes),
    [usage],
  );
  const charts = useMemo(
    () => usageCharts(nodes, { cpus, memory_gb }, isRunning),
    [nodes, cpus, memory_gb, isRunning],
  );
  return (
    <>
      {job.outcome !== 'out_of_memory' && <Killed usage={usage} />}
      <UsageCharts charts={charts} />
      {missingChartTexts(nodes, gpus).map((text) => (
        <p key={text} className={classes.note}>
          {text}
        </p>
      ))}
    </>
  );
}

/** A single node's charts need no name. */
const withoutName = (node: JobUsageOverTime['nodes'][number]) => ({ ...node, node: null });

/** Shown if a program was killed but the job went on without it. */
function Killed({ usage }: { usage: JobUsageOverTime }) {
  const killed = usage.nodes.find(({ memory_killed_at }) => memory_killed_at !== null);
  if (killed?.memory_killed_at == null) return null;
  const { node } = killed;
  return (
    <Notice tone="warning">
      <Trans>
        The job's memory on {node} ran out, and a program in it was killed{' '}
        <Time at={killed.memory_killed_at} />.
      </Trans>
    </Notice>
  );
}
