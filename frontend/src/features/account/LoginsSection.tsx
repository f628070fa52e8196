import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Table, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { LoginSummary } from '@/api/types';
import { Time } from '@/ui/Time';
import { useAction } from '@/ui/useAction';
import { ActionTable, ListSection } from './ListSection';
import { endLogin, endOtherLogins, loginsQuery } from './logins';

/** The user's logins in browsers; each can be ended here. */
export function LoginsSection() {
  const { data, error } = useQuery(loginsQuery);
  const queries = useQueryClient();
  const [busy, run] = useAction();
  const end = (what: () => Promise<unknown>): void => {
    void run(what).then(() => queries.invalidateQueries(loginsQuery));
  };
  const most = data?.max_logins ?? 0;
  return (
    <ListSection
      id="logins"
      title={<Trans>Logins</Trans>}
      loading={!data}
      error={error}
      action={
        <Button
          variant="default"
          disabled={!data || data.items.length < 2}
          loading={busy}
          onClick={() => end(endOtherLogins)}
        >
          <Trans>End all others</Trans>
        </Button>
      }
    >
      {data && (
        <>
          <Text size="sm">
            <Trans>
              Browsers you are logged in with, at most {most}. End a login that you don't recognize,
              and change your password.
            </Trans>
          </Text>
          <LoginTable logins={data.items} busy={busy} onEnd={(id) => end(() => endLogin(id))} />
        </>
      )}
    </ListSection>
  );
}

function browserText({ browser, system }: LoginSummary): string {
  if (browser && system) return t`${browser} on ${system}`;
  return browser || system || t`Unknown browser`;
}

interface TableProps {
  logins: LoginSummary[];
  busy: boolean;
  onEnd: (id: string) => void;
}

function LoginTable({ logins, busy, onEnd }: TableProps) {
  return (
    <ActionTable
      columns={[
        { id: 'browser', header: <Trans>Browser</Trans> },
        { id: 'address', header: <Trans>Address</Trans> },
        { id: 'began', header: <Trans>Started</Trans> },
        { id: 'used', header: <Trans>Last used</Trans> },
      ]}
    >
      {logins.map((login) => (
        <LoginRow key={login.id} login={login} busy={busy} onEnd={onEnd} />
      ))}
    </ActionTable>
  );
}

function LoginRow({ login, busy, onEnd }: { login: LoginSummary } & Omit<TableProps, 'logins'>) {
  const browser = browserText(login);
  const { address } = login;
  return (
    <Table.Tr>
      <Table.Td fw={600}>{browser}</Table.Td>
      <Table.Td>{address}</Table.Td>
      <Table.Td>
        <Time at={login.began_at} />
      </Table.Td>
      <Table.Td>
        <Time at={login.last_used_at} relative />
      </Table.Td>
      <Table.Td ta="right">
        {login.current ? (
          <Text size="sm" c="dimmed">
            <Trans>This one</Trans>
          </Text>
        ) : (
          <Button
            variant="subtle"
            color="red"
            c="var(--bad)"
            size="compact-sm"
            disabled={busy}
            onClick={() => onEnd(login.id)}
            aria-label={t`End the login of ${{ browser }} at ${{ address }}`}
          >
            <Trans>End</Trans>
          </Button>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
