import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { Session } from '@/api/types';
import type { TimeLeft as Left } from '@/lib/durations';
import { duration, timeLeft } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Time } from '@/ui/Time';
import { UsedBar } from '@/ui/UsedBar';
import { ExtendMenu } from './ExtendMenu';
import classes from './SessionCard.module.css';

interface UsedTime {
  /** "20 min of 4 h used"; null if the start is unknown */
  text: string | null;
  percent: number;
}

function usedTime(startedAt: string | null, expiresAt: string, now: number): UsedTime {
  if (startedAt === null) return { text: null, percent: 0 };
  const start = Date.parse(startedAt);
  const totalMs = Math.max(0, Date.parse(expiresAt) - start);
  const usedMs = Math.min(totalMs, Math.max(0, now - start));
  const percent = totalMs === 0 ? 100 : Math.round((100 * usedMs) / totalMs);
  const [used, total] = [duration(usedMs), duration(totalMs)];
  return { text: t`${used} of ${total} used`, percent };
}

function leftText({ text, warning, over }: Left): string {
  if (over) return t`Its time limit is reached; Slurm is ending it.`;
  return warning ? t`${text} left · save your work before it ends` : t`${text} left`;
}

/** A countdown to the time limit, with a warning near the end. */
export function TimeLeft({ session }: { session: Session }) {
  const now = useNow();
  const { expires_at: expiresAt } = session;
  const left = timeLeft(expiresAt, now);
  if (left === null || expiresAt === null) return null;
  const used = usedTime(session.started_at, expiresAt, now);
  return (
    <div className={classes.time}>
      <p>
        <span>
          <span className={left.warning ? classes.soon : undefined}>{leftText(left)}</span>
          {used.text && <span className={classes.environment}> · {used.text}</span>}
        </span>
        <span className={classes.environment}>
          <Trans>
            until <Time at={expiresAt} />
          </Trans>{' '}
          <ExtendMenu session={session} />
        </span>
      </p>
      <UsedBar
        used={used.percent}
        total={100}
        level={left.warning ? 'tight' : 'fine'}
        label={t`Time used`}
      />
    </div>
  );
}
