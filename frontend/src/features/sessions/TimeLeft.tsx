import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { Session } from '@/api/types';
import type { TimeLeft as Left } from '@/lib/durations';
import { timeLeft } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Time } from '@/ui/Time';
import { ExtendMenu } from './ExtendMenu';
import classes from './SessionCard.module.css';

function shareUsed(startedAt: string | null, expiresAt: string, now: number): number {
  if (startedAt === null) return 0;
  const start = Date.parse(startedAt);
  const whole = Date.parse(expiresAt) - start;
  return whole <= 0 ? 1 : Math.min(1, Math.max(0, (now - start) / whole));
}

function leftText({ text, warning, over }: Left): string {
  if (over) return t`Its time limit is reached; Slurm is ending it.`;
  return warning ? t`${text} left · save your work before it ends` : t`${text} left`;
}

/** Counts down to the time limit, with a warning near the end. */
export function TimeLeft({ session }: { session: Session }) {
  const now = useNow();
  const { expires_at: expiresAt } = session;
  const left = timeLeft(expiresAt, now);
  if (left === null || expiresAt === null) return null;
  const used = Math.round(100 * shareUsed(session.started_at, expiresAt, now));
  return (
    <div className={classes.time}>
      <p>
        <span className={left.warning ? classes.soon : undefined}>{leftText(left)}</span>
        <span className={classes.environment}>
          <Trans>
            until <Time at={expiresAt} />
          </Trans>{' '}
          <ExtendMenu session={session} />
        </span>
      </p>
      <div
        className={classes.track}
        role="progressbar"
        aria-label={t`Time used`}
        aria-valuenow={used}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <div className={left.warning ? classes.soonBar : undefined} style={{ width: `${used}%` }} />
      </div>
    </div>
  );
}
