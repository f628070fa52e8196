import { Plural, Trans } from '@lingui/react/macro';
import { Button, Loader } from '@mantine/core';
import type { ReactNode } from 'react';
import { loginOf } from '@/features/directory/names';
import { translate } from '@/i18n/translate';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import classes from '@/ui/DetailPage.module.css';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { useReauthAction } from '@/ui/useReauthAction';
import { acceptUid } from './actions';
import { hasChangedUid, isDeprovisioning } from './labels';
import type { User } from './types';

/** Notices about a user who is disabled, deleted or missing from the directory, and about a changed
 * UID; then the remaining steps of deprovisioning. */
export function DeprovisionState({ user }: { user: User }) {
  // directory_wants: the state still to be written to the directory
  const leaving = user.directory_wants === 'deleted';
  const { username } = user;
  const login = loginOf(user);
  return (
    <>
      {user.deleted_at && (
        <Notice tone="info">
          <Trans>
            Deleted <Time at={user.deleted_at} />. Their actions remain in the audit log.
          </Trans>
        </Notice>
      )}
      {leaving && (
        <Notice tone="warning">
          <Trans>{login} is being deleted.</Trans>
        </Notice>
      )}
      {!user.deleted_at && user.missing_since && (
        <Notice tone="warning">
          <Trans>
            {username} has been missing from the directory since <Time at={user.missing_since} />.
            Logins with this name are not possible.
          </Trans>
        </Notice>
      )}
      {user.disabled && !user.deleted_at && !leaving && <Disabled user={user} />}
      {hasChangedUid(user) && <ChangedUid user={user} />}
      <Progress user={user} />
    </>
  );
}

function Disabled({ user }: { user: User }) {
  const { disabled_at: at, disabled_by: by, disabled_why: why } = user;
  if (!at)
    return (
      <Notice tone="warning">
        <Trans>
          Disabled in the directory, not by the portal. “Enable” enables it there again.
        </Trans>
      </Notice>
    );
  return <Notice tone="warning">{disabledText(<Time at={at} />, by, why)}</Notice>;
}

function disabledText(when: ReactNode, by: string | null, why: string | null): ReactNode {
  if (by && why)
    return (
      <Trans>
        Disabled by {by}, {when}: {why}
      </Trans>
    );
  if (by)
    return (
      <Trans>
        Disabled by {by}, {when}.
      </Trans>
    );
  return why ? (
    <Trans>
      Disabled, {when}: {why}
    </Trans>
  ) : (
    <Trans>Disabled, {when}.</Trans>
  );
}

function ChangedUid({ user }: { user: User }) {
  const me = useMe();
  const { busy, change } = useReauthAction();
  const { username, uid, known_uid: known } = user;
  return (
    <Notice tone="warning">
      <Trans>
        In the directory, {username} now has the UID {uid}; the portal has {known}. This may be a
        different user with a reused name, so logins with this name are blocked.
      </Trans>
      {mayChange(me) && uid !== null && (
        <div className={classes.inNotice}>
          <Button
            size="compact-sm"
            variant="default"
            loading={busy}
            onClick={() => change(() => acceptUid(username, uid))}
          >
            <Trans>Accept the new UID</Trans>
          </Button>
        </div>
      )}
    </Notice>
  );
}

function Progress({ user }: { user: User }) {
  if (isDeprovisioning(user))
    return (
      <div className={classes.progress} role="status">
        <Loader size="xs" aria-hidden="true" />
        <ul className={classes.sentences}>
          {user.pending_steps.map((step) => (
            <li key={step}>{translate(step)}</li>
          ))}
        </ul>
      </div>
    );
  if (!user.disabled || !user.deprovisioned_at || user.deleted_at) return null;
  const { jobs } = user.live;
  const jobsKept = user.disabled_jobs === 'leave' && jobs > 0;
  return (
    <p className={classes.quiet} role="status">
      {jobsKept ? (
        <Trans>
          The user's access ended <Time at={user.deprovisioned_at} />, except for{' '}
          <Plural
            value={jobs}
            one="one job that was not cancelled"
            other="# jobs that were not cancelled"
          />
          .
        </Trans>
      ) : (
        <Trans>
          The user's access ended <Time at={user.deprovisioned_at} />.
        </Trans>
      )}
    </p>
  );
}
