import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Job } from '@/api/types';
import { CancelDialog } from '@/features/jobs/CancelDialog';
import { JobTimes } from '@/features/jobs/JobTimes';
import { hasFailed, jobReason, jobStateLabel } from '@/features/jobs/labels';
import { useJobCount } from '@/features/jobs/useJobCount';
import { TrendLine } from '@/features/measurements/TrendLine';
import { isActive } from '@/live/reducer';
import { useLive } from '@/live/store';
import { Icon } from '@/ui/icons';
import { StateChip } from '@/ui/StateChip';
import classes from './HomeJobs.module.css';
import { jobsForHome, moreText } from './homeJobs';

const LIVE = { state: 'live' } as const;

/** The user's jobs: active ones, then recently ended ones. */
export function HomeJobs() {
  const jobs = useLive((s) => s.jobs);
  if (jobs === null) return null;
  const visible = jobsForHome(jobs, Date.now());
  const shownActive = visible.filter(isActive).length;
  return (
    <section aria-labelledby="your-jobs">
      <div className={classes.top}>
        <h2 className={classes.heading} id="your-jobs">
          <Trans>Your jobs</Trans>
        </h2>
        <Link to="/jobs">
          <Trans>All jobs</Trans>
        </Link>
      </div>
      <Paper className={classes.list}>
        {visible.length === 0 ? (
          <div className={classes.none}>
            <p>
              {jobs.length === 0
                ? t`A job runs a script in the background, for as long as it takes.`
                : t`No jobs are queued or running, and none has ended since yesterday.`}
            </p>
            <Button component={Link} to="/jobs/new" variant="default" size="compact-sm">
              <Trans>Submit a job</Trans>
            </Button>
          </div>
        ) : (
          <ul>
            {visible.map((job) => (
              <JobLine key={job.id} job={job} />
            ))}
          </ul>
        )}
        {jobs.filter(isActive).length > shownActive && <More shown={shownActive} />}
      </Paper>
    </section>
  );
}

/** A link with the number of jobs that are not shown. */
function More({ shown }: { shown: number }) {
  const text = moreText(shown, useJobCount(LIVE));
  return (
    text && (
      <p className={classes.more}>
        <Link to="/jobs">{text}</Link>
      </p>
    )
  );
}

function JobLine({ job }: { job: Job }) {
  const reason = jobReason(job);
  return (
    <li className={classes.line}>
      <div className={classes.text}>
        <Link to="/jobs/$id" params={{ id: job.id }} className={classes.name}>
          {job.name}
        </Link>
        <span className={classes.quiet}>
          <JobTimes job={job} />
        </span>
        {reason && <span className={classes.quiet}>{reason}</span>}
      </div>
      <StateChip {...jobStateLabel(job)} />
      {hasFailed(job) && (
        <Button
          component={Link}
          to={`/jobs/${job.id}`}
          size="compact-sm"
          variant="subtle"
          c="var(--bad)"
          leftSection={<Icon name="alert" size={16} />}
          aria-label={t`Why ${{ name: job.name }} failed`}
        >
          <Trans>Why?</Trans>
        </Button>
      )}
      {job.state === 'running' && !job.external && <JobTrend job={job} />}
    </li>
  );
}

/** The job's recent usage, and the confirmation before it is cancelled because its GPU is idle. */
function JobTrend({ job }: { job: Job }) {
  const [asking, setAsking] = useState(false);
  const stop = (
    <Button
      size="compact-sm"
      variant="subtle"
      color="red"
      c="var(--bad)"
      aria-label={t`Cancel ${{ name: job.name }}`}
      onClick={() => setAsking(true)}
    >
      <Trans>Cancel</Trans>
    </Button>
  );
  return (
    <div className={classes.trend}>
      <TrendLine id={job.id} name={job.name} stop={stop} />
      <CancelDialog job={job} opened={asking} onClose={() => setAsking(false)} />
    </div>
  );
}
