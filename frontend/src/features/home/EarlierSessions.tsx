import { Button } from '@mantine/core';
import { useState } from 'react';
import type { Session } from '@/api/types';
import { SessionCard } from '@/features/sessions/SessionCard';
import classes from './HomePage.module.css';

const SHOWN_AT_FIRST = 4;

export function EarlierSessions({ sessions }: { sessions: Session[] }) {
  const [all, setAll] = useState(false);
  if (sessions.length === 0) return null;
  const shown = all ? sessions : sessions.slice(0, SHOWN_AT_FIRST);
  return (
    <section className={classes.earlier} aria-labelledby="earlier">
      <h2 id="earlier">Earlier sessions</h2>
      {shown.map((session) => (
        <SessionCard key={session.id} session={session} />
      ))}
      {shown.length < sessions.length && (
        <Button variant="default" onClick={() => setAll(true)}>
          Show {sessions.length - shown.length} more
        </Button>
      )}
    </section>
  );
}
