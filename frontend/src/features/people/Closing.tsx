import { Button, Loader } from '@mantine/core';
import { mayChange } from '@/features/account/roles';
import { useMe } from '@/features/account/useMe';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { useChange } from '@/ui/useChange';
import { confirmNumber } from './actions';
import classes from './Person.module.css';
import type { Person } from './shapes';
import { hasOtherNumber, isClosing, loginOf } from './words';

/** Why somebody can't do anything here, since when, and what is still to be done about it. */
export function Closing({ person }: { person: Person }) {
  const leaving = person.directory_wants === 'deleted';
  return (
    <>
      {person.deleted_at && (
        <Notice tone="info">
          Deleted <Time at={person.deleted_at} />. What they did stays in the audit.
        </Notice>
      )}
      {leaving && <Notice tone="warning">{loginOf(person)} is being deleted.</Notice>}
      {!person.deleted_at && person.missing_since && (
        <Notice tone="warning">
          The directory has not known {person.username} since <Time at={person.missing_since} />.
          Nobody can log in with this name.
        </Notice>
      )}
      {person.disabled && !person.deleted_at && !leaving && <Disabled person={person} />}
      {hasOtherNumber(person) && <OtherNumber person={person} />}
      <Progress person={person} />
    </>
  );
}

function Disabled({ person }: { person: Person }) {
  if (!person.disabled_at)
    return (
      <Notice tone="warning">
        Switched off in the directory, not by the portal. “Enable” switches it on again there.
      </Notice>
    );
  return (
    <Notice tone="warning">
      Disabled{person.disabled_by && ` by ${person.disabled_by}`}, <Time at={person.disabled_at} />
      {person.disabled_why ? `: ${person.disabled_why}` : '.'}
    </Notice>
  );
}

function OtherNumber({ person }: { person: Person }) {
  const me = useMe();
  const { busy, change } = useChange();
  const { username, uid } = person;
  return (
    <Notice tone="warning">
      The directory gives {username} the number {uid} now; the portal knows {person.known_uid}. This
      may be somebody else with an old name, so nobody is let in with it.
      {mayChange(me) && uid !== null && (
        <div className={classes.inNotice}>
          <Button
            size="compact-sm"
            variant="default"
            loading={busy}
            onClick={() => change(() => confirmNumber(username, uid))}
          >
            It is the same person
          </Button>
        </div>
      )}
    </Notice>
  );
}

function Progress({ person }: { person: Person }) {
  if (isClosing(person))
    return (
      <div className={classes.progress} role="status">
        <Loader size="xs" aria-hidden="true" />
        <ul className={classes.sentences}>
          {person.closing.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      </div>
    );
  if (!person.disabled || !person.closed_at || person.deleted_at) return null;
  const { jobs } = person.live;
  const left = person.disabled_jobs === 'leave' && jobs > 0;
  return (
    <p className={classes.quiet} role="status">
      Everything of theirs was closed <Time at={person.closed_at} />
      {left &&
        `, but for ${jobs === 1 ? 'one job that is' : `${jobs} jobs that are`} left to end by ${jobs === 1 ? 'itself' : 'themselves'}`}
      .
    </p>
  );
}
