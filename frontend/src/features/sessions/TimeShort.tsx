import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { Session } from '@/api/types';
import { timeLeft } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { useLive } from '@/live/store';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { ExtendMenu } from './ExtendMenu';
import classes from './TimeShort.module.css';
import { endingSoon } from './timeShort';

const NONE: readonly Session[] = [];

/** A banner on every page about sessions that end soon, until the user hides it. */
export function TimeShort() {
  const sessions = useLive((s) => s.sessions) ?? NONE;
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const now = useNow();
  // The session's own page already shows it.
  const { id: currentId } = useParams({ strict: false }) as { id?: string };
  const ending = endingSoon(sessions, now).filter(
    ({ session, key }) => !hidden.has(key) && session.id !== currentId,
  );
  return (
    <div role="status" className={classes.list}>
      {ending.map(({ session, key, expiresAt }) => (
        <Notice key={key} tone="warning">
          <div className={classes.line}>
            <span>
              <Trans>
                Session{' '}
                <Link to="/sessions/$id" params={{ id: session.id }}>
                  {session.name}
                </Link>{' '}
                ends at <Time at={expiresAt} />. Save your work.
              </Trans>{' '}
              <span aria-hidden="true" className={classes.left}>
                {timeLeft(expiresAt, now)?.text}
              </span>
            </span>
            <span className={classes.acts}>
              <ExtendMenu session={session} />
              <Button
                size="compact-xs"
                variant="subtle"
                color="gray"
                onClick={() => setHidden(new Set([...hidden, key]))}
              >
                <Trans>Hide</Trans>
              </Button>
            </span>
          </div>
        </Notice>
      ))}
    </div>
  );
}
