import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMemo } from 'react';
import type { JobDetail, Task } from '@/api/types';
import { JobMetrics } from '@/features/metrics/JobMetrics';
import { ParallelChart } from '@/features/metrics/ParallelChart';
import type { SweepRun } from '@/features/metrics/parallel';
import classes from './JobPage.module.css';

/** The metrics of a job, and of its tasks against their parameters. */
export function MetricsSection({ job }: { job: JobDetail }) {
  return (
    <section aria-labelledby="metrics">
      <h2 id="metrics" className={classes.heading}>
        <Trans>Metrics</Trans>
      </h2>
      {job.array && <Sweep tasks={job.array.tasks} />}
      <JobMetrics job={job} />
    </section>
  );
}

/** The metrics of an array's tasks against their parameters. */
function Sweep({ tasks }: { tasks: readonly Task[] }) {
  const runs = useMemo(() => tasks.map(toSweepRun), [tasks]);
  return <ParallelChart title={t`Parameters and metrics of the tasks`} runs={runs} />;
}

const toSweepRun = ({ index, parameters = {}, metrics = null }: Task): SweepRun => ({
  key: String(index),
  label: t`Task ${index}`,
  parameters,
  metrics,
});
