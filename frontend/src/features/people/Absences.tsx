import { Trans } from '@lingui/react/macro';
import classes from './People.module.css';
import type { Capabilities } from './shapes';
import { absences } from './words';

/** Why some buttons aren't here; nothing where the directory lets the portal do everything. */
export function Absences({ capabilities }: { capabilities: Pick<Capabilities, 'missing'> }) {
  const lines = absences(capabilities);
  if (lines.length === 0) return null;
  return (
    <div className={classes.absent}>
      {lines.map(({ what, why }) => (
        <p key={why}>
          <Trans>
            In this directory the portal can't {what}. {why}
          </Trans>
        </p>
      ))}
    </div>
  );
}
