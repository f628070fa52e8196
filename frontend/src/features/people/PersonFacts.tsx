import { Paper } from '@mantine/core';
import type { ReactNode } from 'react';
import { plural } from '@/features/sessions/words';
import { Time } from '@/ui/Time';
import classes from './Person.module.css';
import type { Person } from './shapes';
import { passwordText } from './words';

interface Fact {
  label: string;
  value: ReactNode;
}

function directoryFacts(person: Person): Fact[] {
  const names = [person.given_name, person.surname].filter(Boolean).join(' ');
  return [
    { label: 'Name', value: names || person.display_name || '–' },
    ...(person.display_name && person.display_name !== names
      ? [{ label: 'Shown as', value: person.display_name }]
      : []),
    { label: 'Mail', value: person.email || '–' },
    { label: 'Number (uid)', value: person.uid ?? '–' },
    { label: 'Primary group', value: person.gid ?? '–' },
    { label: 'Home directory', value: person.home ? <code>{person.home}</code> : '–' },
    { label: 'Login shell', value: person.shell ? <code>{person.shell}</code> : '–' },
    { label: 'Password', value: passwordText(person) },
  ];
}

function portalFacts(person: Person): Fact[] {
  const { sessions, jobs } = person.live;
  const running = [
    ...(sessions > 0 ? [plural(sessions, 'session')] : []),
    ...(jobs > 0 ? [plural(jobs, 'job')] : []),
  ].join(', ');
  return [
    {
      label: 'Last login',
      value: person.last_login_at ? <Time at={person.last_login_at} /> : 'never',
    },
    { label: 'Logged in', value: person.web_sessions === 0 ? 'nowhere' : browsers(person) },
    { label: 'Access tokens', value: person.tokens === 0 ? 'none' : String(person.tokens) },
    { label: 'Running now', value: running || 'nothing' },
  ];
}

const browsers = ({ web_sessions: n }: Person): string => `in ${plural(n, 'browser')}`;

export function DirectoryFacts({ person }: { person: Person }) {
  return (
    <Paper component="section" className={classes.box} aria-labelledby="in-directory">
      <h2 className={classes.heading} id="in-directory">
        In the directory
      </h2>
      {person.in_directory && !person.directory_problem && <Facts facts={directoryFacts(person)} />}
      {person.directory_problem && (
        <p className={classes.quiet}>The directory can't be asked just now.</p>
      )}
      {!person.in_directory && <p className={classes.quiet}>There is no entry of this name.</p>}
    </Paper>
  );
}

export function PortalFacts({ person }: { person: Person }) {
  return (
    <Paper component="section" className={classes.box} aria-labelledby="in-portal">
      <h2 className={classes.heading} id="in-portal">
        In the portal
      </h2>
      {person.known ? (
        <Facts facts={portalFacts(person)} />
      ) : (
        <p className={classes.quiet}>
          They have not logged in yet. The first login makes their profile.
        </p>
      )}
    </Paper>
  );
}

function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl className={classes.facts}>
      {facts.map(({ label, value }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
