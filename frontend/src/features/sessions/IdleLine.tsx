import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import type { Session } from '@/api/types';
import { useKeptDespiteIdle } from '@/features/measurements/keptIdle';
import { useNow } from '@/lib/useNow';
import { Notice } from '@/ui/Notice';
import { idleText } from './idle';
import { StopButton } from './StopButton';
import classes from './TimeShort.module.css';

/**
 * A notice that the session has been idle for a long time, with the resources it holds. The notice
 * itself stops nothing: the owner stops the session, or keeps it and hides the notice.
 */
export function IdleLine({ session }: { session: Session }) {
  const now = useNow();
  const [keptAt, keep] = useKeptDespiteIdle(session.id);
  const text = idleText(session, now, keptAt);
  if (text === null) return null;
  return (
    <Notice tone="info">
      <div className={classes.line}>
        <span>{text}</span>
        <span className={classes.acts}>
          <StopButton session={session} compact />
          <Button
            size="compact-sm"
            variant="subtle"
            color="gray"
            aria-label={t`Keep running: ${{ name: session.name }}`}
            onClick={() => keep(now)}
          >
            <Trans>Keep running</Trans>
          </Button>
        </span>
      </div>
    </Notice>
  );
}
