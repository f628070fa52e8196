import { Button, Group, Paper, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { mayChange } from '@/features/account/roles';
import { useMe } from '@/features/account/useMe';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { Notice } from '@/ui/Notice';
import { NewPersonForm } from './NewPersonForm';
import { PasswordBox } from './PasswordBox';
import classes from './Person.module.css';
import type { OneTimePassword, Person } from './shapes';
import { nameOf } from './words';

interface Made {
  person: Person;
  password: OneTimePassword;
}

/** Somebody joins. */
export function NewPersonPage() {
  return (
    <AdminFrame tab="New person" title="New person">
      <Body />
    </AdminFrame>
  );
}

function Body() {
  const me = useMe();
  const [made, setMade] = useState<Made | null>(null);
  if (!mayChange(me))
    return (
      <Notice tone="info">Only administrators can create people. You may look at them.</Notice>
    );
  return made ? (
    <Welcome made={made} onAnother={() => setMade(null)} />
  ) : (
    <NewPersonForm onMade={setMade} />
  );
}

function Welcome({ made, onAnother }: { made: Made; onAnother: () => void }) {
  const { person, password } = made;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <Paper className={classes.box}>
      <h2 className={classes.heading} ref={heading} tabIndex={-1}>
        {nameOf(person)} is in the directory
      </h2>
      <Stack className={classes.wide}>
        <p className={classes.line}>
          The user name is <strong>{person.username}</strong>
          {person.uid !== null && <>, the number {person.uid}</>}
          {(person.groups ?? []).length > 0 && <>, in {(person.groups ?? []).join(', ')}</>}. The
          one-time password:
        </p>
        <PasswordBox username={person.username} made={password} />
        <Group>
          <Button
            renderRoot={(props) => (
              <Link
                {...props}
                to="/admin/people/$username"
                params={{ username: person.username }}
              />
            )}
          >
            Go to {person.username}
          </Button>
          <Button variant="default" onClick={onAnother}>
            Create another person
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
