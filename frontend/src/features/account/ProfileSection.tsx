import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorMessage } from '@/api/problem';
import { myGroupsQuery } from '@/features/tensorboard/sharing';
import { joinWithCommas } from '@/i18n/lists';
import { ROLE_LABELS } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import classes from '@/ui/AccountSection.module.css';
import { Time } from '@/ui/Time';
import { TryAgain } from '@/ui/TryAgain';

/** The user's data from the directory, which cannot be changed here. */
export function ProfileSection() {
  const me = useMe();
  return (
    <Paper className={classes.section} component="section" aria-labelledby="profile">
      <Title order={2} size="h4" id="profile" mb="sm">
        <Trans>Profile</Trans>
      </Title>
      <dl className={classes.facts}>
        <Fact name={t({ message: 'Name', context: 'of a user' })}>{me.display_name}</Fact>
        <Fact name={t`User name`}>{me.username}</Fact>
        <Fact name={t`E-mail`}>
          {me.email ?? (
            <Quiet>
              <Trans>The directory has no e-mail address.</Trans>
            </Quiet>
          )}
        </Fact>
        <Fact name={t`Groups`}>
          <Groups />
        </Fact>
        <Fact name={t`Role in the portal`}>{ROLE_LABELS[me.role]}</Fact>
        {me.manages.length > 0 && (
          <Fact name={t`Manages these groups`}>{joinWithCommas(me.manages)}</Fact>
        )}
        {me.last_login_at && (
          <Fact name={t`Last login`}>
            <Time at={me.last_login_at} />
          </Fact>
        )}
      </dl>
      <Text size="sm" c="dimmed" mt="md">
        <Trans>
          Name, e-mail address and groups come from your organization's directory. If something is
          wrong, ask your administrators to change it there. You can change your password yourself.
        </Trans>
      </Text>
    </Paper>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const Quiet = ({ children }: { children: React.ReactNode }) => (
  <span className={classes.quiet}>{children}</span>
);

function Groups() {
  const { data, error, refetch } = useQuery(myGroupsQuery);
  if (error && !data)
    return <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />;
  if (!data)
    return (
      <Quiet>
        <Trans>Loading…</Trans>
      </Quiet>
    );
  return data.length === 0 ? (
    <Quiet>
      <Trans context="groups">None.</Trans>
    </Quiet>
  ) : (
    joinWithCommas(data)
  );
}
