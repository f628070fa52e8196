import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { NativeSelect, Skeleton } from '@mantine/core';
import { useMemo, useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { JobDetail } from '@/api/types';
import { Fold } from '@/ui/Fold';
import { TryAgain } from '@/ui/TryAgain';
import { MetricCharts } from './MetricCharts';
import classes from './Metrics.module.css';
import { type JobCurves, jobCurvesQuery, useCurves } from './queries';
import sample from './sample.py?raw';

/** The metrics of a started job, or of one task of an array, over steps or time. */
export function JobMetrics({ job }: { job: JobDetail }) {
  const started = job.array?.tasks.filter(({ node }) => node !== null) ?? [];
  const [chosen, setChosen] = useState<number | null>(null);
  const task = job.array === null ? undefined : (chosen ?? started[0]?.index);
  return (
    <div className={classes.section}>
      {job.array !== null && started.length > 0 && (
        <NativeSelect
          className={classes.task}
          label={t`Metrics of task`}
          value={task}
          data={started.map(({ index }) => String(index))}
          onChange={({ currentTarget }) => setChosen(Number(currentTarget.value))}
        />
      )}
      {(job.array === null || task !== undefined) && <Curves key={task} job={job} task={task} />}
    </div>
  );
}

function Curves({ job, task }: { job: JobDetail; task: number | undefined }) {
  const { data, error, refetch } = useCurves(job, jobCurvesQuery(job.id, task));
  if (data === undefined)
    return error ? (
      <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />
    ) : (
      <Skeleton height={200} aria-label={t`Loading`} />
    );
  if (data.curves.length === 0) return <Nothing isActive={job.state !== 'ended'} />;
  return <CurveCharts data={data} />;
}

/** The charts of one job or session. */
export function CurveCharts({ data }: { data: JobCurves }) {
  const { id, curves } = data;
  const named = useMemo(() => [{ id, name: null, curves }], [id, curves]);
  return (
    <>
      <MetricCharts jobs={named} />
      <LeftOutNotes answers={[data]} />
    </>
  );
}

/** Notes on what the charts leave out. */
export function LeftOutNotes({ answers }: { answers: readonly JobCurves[] }) {
  const leftOut = answers.reduce((sum, { curves_left_out }) => sum + curves_left_out, 0);
  return (
    <>
      {leftOut > 0 && (
        <p className={classes.note}>
          {plural(leftOut, {
            one: '# more curve is only in TensorBoard.',
            other: '# more curves are only in TensorBoard.',
          })}
        </p>
      )}
      {answers.some(({ complete }) => !complete) && (
        <p className={classes.note}>
          {t`The event files are too large to be read whole; TensorBoard shows all values.`}
        </p>
      )}
    </>
  );
}

function Nothing({ isActive }: { isActive: boolean }) {
  return (
    <>
      <p className={classes.note}>
        {isActive ? t`No metrics have been logged yet.` : t`No metrics were logged.`}
      </p>
      <Fold summary={t`How to log metrics`}>
        <p className={classes.note}>
          <Trans>
            Write TensorBoard event files to the folder in the variable PORTAL_LOGDIR. Their scalars
            appear here, also while the job runs.
          </Trans>
        </p>
        <pre className={classes.sample}>
          <code>{sample}</code>
        </pre>
      </Fold>
    </>
  );
}
