import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useState } from 'react';
import type { Session } from '@/api/types';
import { SessionCard } from '@/features/sessions/SessionCard';
import classes from './HomePage.module.css';

const SHOWN_AT_FIRST = 4;

export function EarlierSessions({ sessions }: { sessions: Session[] }) {
  const [all, setAll] = useState(false);
  if (sessions.length === 0) return null;
  const visible = all ? sessions : sessions.slice(0, SHOWN_AT_FIRST);
  const more = sessions.length - visible.length;
  return (
    <section className={classes.earlier} aria-labelledby="earlier">
      <h2 id="earlier">
        <Trans>Earlier sessions</Trans>
      </h2>
      {visible.map((session) => (
        <SessionCard key={session.id} session={session} />
      ))}
      {more > 0 && (
        <Button variant="default" onClick={() => setAll(true)}>
          <Trans>Show {more} more</Trans>
        </Button>
      )}
    </section>
  );
}
