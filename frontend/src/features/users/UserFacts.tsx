import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import type { ReactNode } from 'react';
import { joinWithCommas } from '@/i18n/lists';
import classes from '@/ui/DetailPage.module.css';
import { Time } from '@/ui/Time';
import { passwordText } from './labels';
import type { User } from './types';

interface Fact {
  label: string;
  value: ReactNode;
}

function directoryFacts(user: User): Fact[] {
  const names = [user.given_name, user.surname].filter(Boolean).join(' ');
  return [
    {
      label: t({ message: 'Name', context: 'of a user' }),
      value: names || user.display_name || '–',
    },
    ...(user.display_name && user.display_name !== names
      ? [{ label: t`Display name`, value: user.display_name }]
      : []),
    { label: t`E-mail`, value: user.email || '–' },
    { label: t`UID`, value: user.uid ?? '–' },
    { label: t`Primary group`, value: primaryGroup(user) },
    { label: t`Home directory`, value: user.home ? <code>{user.home}</code> : '–' },
    { label: t`Login shell`, value: user.shell ? <code>{user.shell}</code> : '–' },
    { label: t`Password`, value: passwordText(user) },
  ];
}

/** Format the primary group: "physics (20066)", or "20066 (no such group)". */
function primaryGroup({ gid, primary_group: name }: User): string {
  if (gid === null) return '–';
  return name === null ? t`${gid} (no such group)` : `${name} (${gid})`;
}

function portalFacts(user: User): Fact[] {
  const { sessions, jobs } = user.live;
  const running = joinWithCommas([
    ...(sessions > 0 ? [plural(sessions, { one: '# session', other: '# sessions' })] : []),
    ...(jobs > 0 ? [plural(jobs, { one: '# job', other: '# jobs' })] : []),
  ]);
  return [
    {
      label: t`Last login`,
      value: user.last_login_at ? <Time at={user.last_login_at} /> : t`never`,
    },
    { label: t`Logged in`, value: user.web_sessions === 0 ? t`nowhere` : browsers(user) },
    { label: t`Access tokens`, value: user.tokens === 0 ? t`none` : String(user.tokens) },
    { label: t`Running now`, value: running || t`nothing` },
  ];
}

const browsers = ({ web_sessions: n }: User): string =>
  plural(n, { one: 'in # browser', other: 'in # browsers' });

export function DirectoryFacts({ user }: { user: User }) {
  return (
    <Paper component="section" className={classes.box} aria-labelledby="in-directory">
      <h2 className={classes.heading} id="in-directory">
        <Trans>In the directory</Trans>
      </h2>
      {user.in_directory && !user.directory_problem && <Facts facts={directoryFacts(user)} />}
      {user.directory_problem && (
        <p className={classes.quiet}>
          <Trans>The directory doesn't answer.</Trans>
        </p>
      )}
      {!user.in_directory && (
        <p className={classes.quiet}>
          <Trans>There is no entry of this name.</Trans>
        </p>
      )}
    </Paper>
  );
}

export function PortalFacts({ user }: { user: User }) {
  return (
    <Paper component="section" className={classes.box} aria-labelledby="in-portal">
      <h2 className={classes.heading} id="in-portal">
        <Trans>In the portal</Trans>
      </h2>
      {user.known ? (
        <Facts facts={portalFacts(user)} />
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
