import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import type { ReactNode } from 'react';
import { joinWithCommas } from '@/i18n/lists';
import classes from '@/ui/DetailPage.module.css';
import { Time } from '@/ui/Time';
import { passwordText } from './labels';
import type { Person } from './types';

interface Fact {
  label: string;
  value: ReactNode;
}

function directoryFacts(person: Person): Fact[] {
  const names = [person.given_name, person.surname].filter(Boolean).join(' ');
  return [
    {
      label: t({ message: 'Name', context: 'of a person' }),
      value: names || person.display_name || '–',
    },
    ...(person.display_name && person.display_name !== names
      ? [{ label: t`Shown as`, value: person.display_name }]
      : []),
    { label: t`Email`, value: person.email || '–' },
    { label: t`Number (uid)`, value: person.uid ?? '–' },
    { label: t`Primary group`, value: primaryGroup(person) },
    { label: t`Home directory`, value: person.home ? <code>{person.home}</code> : '–' },
    { label: t`Login shell`, value: person.shell ? <code>{person.shell}</code> : '–' },
    { label: t`Password`, value: passwordText(person) },
  ];
}

/** "physics (20066)"; a number that no group has stands alone. */
function primaryGroup({ gid, primary_group: name }: Person): string {
  if (gid === null) return '–';
  return name === null ? t`${gid}, which no group has` : `${name} (${gid})`;
}

function portalFacts(person: Person): Fact[] {
  const { sessions, jobs } = person.live;
  const running = joinWithCommas([
    ...(sessions > 0 ? [plural(sessions, { one: '# session', other: '# sessions' })] : []),
    ...(jobs > 0 ? [plural(jobs, { one: '# job', other: '# jobs' })] : []),
  ]);
  return [
    {
      label: t`Last login`,
      value: person.last_login_at ? <Time at={person.last_login_at} /> : t`never`,
    },
    { label: t`Logged in`, value: person.web_sessions === 0 ? t`nowhere` : browsers(person) },
    { label: t`Access tokens`, value: person.tokens === 0 ? t`none` : String(person.tokens) },
    { label: t`Running now`, value: running || t`nothing` },
  ];
}

const browsers = ({ web_sessions: n }: Person): string =>
  plural(n, { one: 'in # browser', other: 'in # browsers' });

export function DirectoryFacts({ person }: { person: Person }) {
  return (
    <Paper component="section" className={classes.box} aria-labelledby="in-directory">
      <h2 className={classes.heading} id="in-directory">
        <Trans>In the directory</Trans>
      </h2>
      {person.in_directory && !person.directory_problem && <Facts facts={directoryFacts(person)} />}
      {person.directory_problem && (
        <p className={classes.quiet}>
          <Trans>The directory can't be reached now.</Trans>
        </p>
      )}
      {!person.in_directory && (
        <p className={classes.quiet}>
          <Trans>There is no entry of this name.</Trans>
        </p>
      )}
    </Paper>
  );
}

export function PortalFacts({ person }: { person: Person }) {
  return (
    <Paper component="section" className={classes.box} aria-labelledby="in-portal">
      <h2 className={classes.heading} id="in-portal">
        <Trans>In the portal</Trans>
      </h2>
      {person.known ? (
        <Facts facts={portalFacts(person)} />
      ) : (
        <p className={classes.quiet}>
          <Trans>They have not logged in yet. The first login creates their profile.</Trans>
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
