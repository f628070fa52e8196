import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { NativeSelect, Paper } from '@mantine/core';
import { GroupPick } from '@/features/directory/GroupPick';
import { setManager } from '@/features/groups/actions';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { Chips } from '@/ui/Chips';
import classes from '@/ui/DetailPage.module.css';
import { Time } from '@/ui/Time';
import { useReauthAction } from '@/ui/useReauthAction';
import { grantRole } from './actions';
import { isDeleted, roleReason, roleText } from './labels';
import type { User } from './types';

const GRANTS = [
  { value: 'none', label: t`None` },
  { value: 'viewer', label: t`Viewer: sees these pages, changes nothing` },
  { value: 'admin', label: t`Administrator` },
];

/** A user's role with its reason, and the groups that they manage. */
export function UserRole({ user }: { user: User }) {
  const me = useMe();
  const { busy, change, withPassword } = useReauthAction();
  const { username, manages } = user;
  const [role, reason] = [roleText(user.role, user.admitted), roleReason(user)];
  const changing = mayChange(me) && !isDeleted(user) && !user.unmanaged;
  return (
    <Paper component="section" className={classes.box} aria-labelledby="role">
      <h2 className={classes.heading} id="role">
        <Trans>Role</Trans>
      </h2>
      <p className={classes.line}>
        {user.granted_role && user.granted_at ? (
          <Trans>
            <strong>{role}.</strong> {reason} Since <Time at={user.granted_at} />.
          </Trans>
        ) : (
          <Trans>
            <strong>{role}.</strong> {reason}
          </Trans>
        )}
      </p>
      {changing && (
        <NativeSelect
          className={classes.wide}
          label={t`Role given in the portal`}
          description={t`The higher role applies: this one, or the one from directory groups.`}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          data={GRANTS}
          value={user.granted_role ?? 'none'}
          disabled={busy}
          onChange={(event) => {
            const chosen = event.currentTarget.value;
            const role = chosen === 'admin' || chosen === 'viewer' ? chosen : null;
            change(() => grantRole(username, role));
          }}
        />
      )}
      <h3 className={classes.subheading}>
        <Trans>Manages these groups</Trans>
      </h3>
      {manages.length === 0 ? (
        <p className={classes.quiet}>
          <Trans>
            None. A group manager sees the usage of the group's members and sets their limits.
          </Trans>
        </p>
      ) : (
        <Chips
          label={t`Groups that ${username} manages`}
          names={manages}
          to="group"
          onRemove={
            changing ? (name) => withPassword(() => setManager(name, username, false)) : undefined
          }
          removeLabel={(name) => t`Remove ${username} as manager of ${name}`}
        />
      )}
      {changing && (
        <div className={classes.wide}>
          <GroupPick
            label={t`Make manager of a group`}
            placeholder={t`Type to find one`}
            without={manages}
            disabled={busy}
            onPick={(name) => change(() => setManager(name, username, true))}
          />
        </div>
      )}
    </Paper>
  );
}
