import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { JobDetail } from '@/api/types';
import { duration } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Time } from '@/ui/Time';
import pageClasses from './JobPage.module.css';
import classes from './Timeline.module.css';
import { STAGE_LABELS, stages, timelineEvents } from './timelineStages';

/** A job's timeline: a chart of its stages, and the times of its events. */
export function Timeline({ job }: { job: JobDetail }) {
  const now = useNow();
  const parts = stages(job, now);
  const restarts = job.usage?.restarts ?? 0;
  const lost = job.lost_job_ids;
  const ids = lost.join(', ');
  return (
    <section aria-labelledby="timeline">
      <h2 id="timeline" className={pageClasses.heading}>
        <Trans>Timeline</Trans>
      </h2>
      <div className={classes.bars} aria-hidden="true">
        {parts.map(({ kind, width }) => (
          <span key={kind} className={classes[kind]} style={{ flexGrow: width }} />
        ))}
      </div>
      <ol className={classes.stages} aria-label={t`How long each stage took`}>
        {parts.map(({ kind, ms }) => (
          <li key={kind}>
            <span className={`${classes.swatch} ${classes[kind]}`} aria-hidden="true" />
            <span className={classes.name}>{STAGE_LABELS[kind]}</span>{' '}
            <span className={classes.took}>{duration(ms)}</span>
          </li>
        ))}
      </ol>
      <dl className={classes.events}>
        {timelineEvents(job).map(({ label, at, state }) => (
          <div key={label} data-state={state}>
            <dt>{label}</dt>
            <dd>{at === null ? t`unknown` : <Time at={at} />}</dd>
          </div>
        ))}
      </dl>
      {lost.length > 0 && (
        <p className={classes.note}>
          {plural(lost.length, {
            one: `Slurm lost it as job ${ids}, and the portal submitted it again.`,
            other: `Slurm lost it # times, as jobs ${ids}, and the portal submitted it again.`,
          })}
        </p>
      )}
      {restarts > 0 && (
        <p className={classes.note}>
          {plural(restarts, {
            one: 'Slurm put it back into the queue and started it again # time.',
            other: 'Slurm put it back into the queue and started it again # times.',
          })}
        </p>
      )}
    </section>
  );
}
