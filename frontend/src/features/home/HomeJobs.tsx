import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Job } from '@/api/types';
import { failed, jobReason, jobStateLabel, jobTime } from '@/features/jobs/labels';
import { useJobCount } from '@/features/jobs/useJobCount';
import { useNow } from '@/lib/useNow';
import { isLive } from '@/live/reducer';
import { useLive } from '@/live/store';
import { Icon } from '@/ui/icons';
import { StateChip } from '@/ui/StateChip';
import classes from './HomeJobs.module.css';
import { jobsForHome, moreText } from './homeJobs';

const LIVE = { state: 'live' } as const;

/** One's jobs at a glance: what waits and runs, then what has ended lately. */
export function HomeJobs() {
  const jobs = useLive((s) => s.jobs);
  if (jobs === null) return null;
  const shown = jobsForHome(jobs, Date.now());
  const shownLive = shown.filter(isLive).length;
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
        {shown.length === 0 ? (
          <div className={classes.none}>
            <p>
              {jobs.length === 0
                ? t`A job runs a script in the background, for as long as it takes.`
                : t`No jobs are waiting or running, and none has ended since yesterday.`}
            </p>
            <Button component={Link} to="/jobs/new" variant="default" size="compact-sm">
              <Trans>Submit a job</Trans>
            </Button>
          </div>
        ) : (
          <ul>
            {shown.map((job) => (
              <JobLine key={job.id} job={job} />
            ))}
          </ul>
        )}
        {jobs.filter(isLive).length > shownLive && <More shown={shownLive} />}
      </Paper>
    </section>
  );
}

/** How many more there are than stand here. */
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
  const now = useNow();
  const reason = jobReason(job);
  return (
    <li className={classes.line}>
      <div className={classes.text}>
        <Link to="/jobs/$id" params={{ id: job.id }} className={classes.name}>
          {job.name}
        </Link>
        <span className={classes.quiet}>{jobTime(job, now)}</span>
        {reason && <span className={classes.quiet}>{reason}</span>}
      </div>
      <StateChip {...jobStateLabel(job)} />
      {failed(job) && (
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
    </li>
  );
}
