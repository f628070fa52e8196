import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import { can } from '@/features/directory/capabilities';
import { GroupPick } from '@/features/directory/GroupPick';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { Chips } from '@/ui/Chips';
import classes from '@/ui/DetailPage.module.css';
import { useReauthAction } from '@/ui/useReauthAction';
import { addToGroup, removeFromGroup } from './actions';
import { isManaged } from './labels';
import type { User } from './types';

/** A user's groups in the directory, with controls to add and remove them. */
export function UserGroups({ user }: { user: User }) {
  const me = useMe();
  const { busy, change, withPassword } = useReauthAction();
  const { username } = user;
  const groups = user.groups ?? [];
  const changing = mayChange(me) && isManaged(user) && can(user.capabilities, 'groups');
  return (
    <Paper component="section" className={classes.box} aria-labelledby="groups">
      <h2 className={classes.heading} id="groups">
        <Trans>Groups</Trans>
      </h2>
      {groups.length === 0 ? (
        <p className={classes.quiet}>
          <Trans>In no group.</Trans>
        </p>
      ) : (
        <Chips
          label={t`Groups of ${username}`}
          names={groups}
          to="group"
          onRemove={
            changing ? (name) => withPassword(() => removeFromGroup(username, name)) : undefined
          }
          removeLabel={(name) => t`Remove ${username} from ${name}`}
        />
      )}
      {changing && (
        <div className={classes.wide}>
          <GroupPick
            label={t`Add to a group`}
            placeholder={t`Type to find one`}
            without={groups}
            disabled={busy}
            onPick={(name) => change(() => addToGroup(username, name))}
          />
        </div>
      )}
    </Paper>
  );
}
