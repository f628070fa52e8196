import { Trans } from '@lingui/react/macro';
import type { Capabilities } from '@/features/directory/capabilities';
import classes from '@/ui/AdminList.module.css';
import { missingCapabilities } from './labels';

/** The reasons for missing buttons; empty if the directory lets the portal do everything. */
export function MissingCapabilities({
  capabilities,
}: {
  capabilities: Pick<Capabilities, 'missing'>;
}) {
  const lines = missingCapabilities(capabilities);
  if (lines.length === 0) return null;
  return (
    <div className={classes.absent}>
      {lines.map(({ action: what, reason: why }) => (
        <p key={why}>
          <Trans>
            In this directory, the portal can't {what}. {why}
          </Trans>
        </p>
      ))}
    </div>
  );
}
