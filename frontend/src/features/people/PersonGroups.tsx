import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import { mayChange } from '@/features/account/roles';
import { useMe } from '@/features/account/useMe';
import { useChange } from '@/ui/useChange';
import { addToGroup, removeFromGroup } from './actions';
import { Chips } from './Chips';
import classes from './Person.module.css';
import { GroupPick } from './SearchPick';
import type { Person } from './shapes';
import { can, isManaged } from './words';

/** The groups of the directory someone is in, and the way into and out of them. */
export function PersonGroups({ person }: { person: Person }) {
  const me = useMe();
  const { busy, change, withPassword } = useChange();
  const { username } = person;
  const groups = person.groups ?? [];
  const changing = mayChange(me) && isManaged(person) && can(person.capabilities, 'groups');
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
          removeLabel={(name) => t`Take ${username} out of ${name}`}
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
