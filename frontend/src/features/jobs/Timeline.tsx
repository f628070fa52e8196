import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { JobDetail } from '@/api/types';
import { duration } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Time } from '@/ui/Time';
import pageClasses from './JobPage.module.css';
import classes from './Timeline.module.css';
import { STAGE_LABELS, stages, timelineEvents } from './timelineStages';

/** Its way through the queue: a picture of how long what took, and when it was. */
export function Timeline({ job }: { job: JobDetail }) {
  const now = useNow();
  const restarts = job.usage?.restarts ?? 0;
  return (
    <section aria-labelledby="course">
      <h2 id="course" className={pageClasses.heading}>
        <Trans>Timeline</Trans>
      </h2>
      <ol className={classes.stages} aria-label={t`How long each stage took`}>
        {stages(job, now).map(({ kind, ms, width }) => (
          <li key={kind} className={classes.stage} style={{ flexGrow: width }}>
            <span className={`${classes.bar} ${classes[kind]}`} aria-hidden="true" />
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
