import { Loader } from '@mantine/core';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import classes from './Person.module.css';
import type { Person } from './shapes';
import { directoryDue, isClosing, openText } from './words';

/** Why somebody can't do anything here, since when, and what of theirs is still being closed. */
export function Closing({ person }: { person: Person }) {
  const due = directoryDue(person);
  return (
    <>
      {person.deleted_at && (
        <Notice tone="info">
          Deleted <Time at={person.deleted_at} />. What they did stays in the audit.
        </Notice>
      )}
      {!person.deleted_at && person.missing_since && (
        <Notice tone="warning">
          The directory has not known {person.username} since <Time at={person.missing_since} />.
          Nobody can log in with this name.
        </Notice>
      )}
      {person.disabled && !person.deleted_at && (
        <Notice tone="warning">
          Disabled{person.disabled_by && ` by ${person.disabled_by}`}
          {person.disabled_at && (
            <>
              , <Time at={person.disabled_at} />
            </>
          )}
          {person.disabled_why ? `: ${person.disabled_why}` : '.'}
        </Notice>
      )}
      {person.disabled && <Progress person={person} />}
      {due && <Notice tone="warning">{due}</Notice>}
    </>
  );
}

function Progress({ person }: { person: Person }) {
  if (!isClosing(person))
    return (
      <p className={classes.quiet} role="status">
        Everything of theirs is closed
        {person.closed_at && (
          <>
            {' '}
            since <Time at={person.closed_at} />
          </>
        )}
        {person.disabled_jobs === 'leave' && person.live.jobs > 0
          ? `, but for ${person.live.jobs === 1 ? 'one job that is' : `${person.live.jobs} jobs that are`} left to end.`
          : '.'}
      </p>
    );
  const open = openText(person);
  return (
    <div className={classes.head} role="status">
      <Loader size="xs" aria-hidden="true" />
      <span className={classes.line}>
        {open ? `Still being closed: ${open}.` : 'Making sure that everything is closed.'}
      </span>
    </div>
  );
}
