import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { LoginSummary } from '@/api/types';
import { type Column, DataTable } from '@/ui/DataTable';
import { Time } from '@/ui/Time';
import { useAction } from '@/ui/useAction';
import { ListSection } from './ListSection';
import { endLogin, endOtherLogins, loginsQuery } from './logins';

/** The user's logins in browsers; each can be ended here. */
export function LoginsSection() {
  const { data, error, refetch } = useQuery(loginsQuery);
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
      onRetry={() => void refetch()}
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
          <DataTable
            label={t`Logins`}
            columns={COLUMNS}
            rows={data.items}
            rowKey={({ id }) => id}
            actions={(login) => (
              <LoginAction login={login} busy={busy} onEnd={() => end(() => endLogin(login.id))} />
            )}
            plain
          />
        </>
      )}
    </ListSection>
  );
}

function browserText({ browser, system }: LoginSummary): string {
  if (browser && system) return t`${browser} on ${system}`;
  return browser || system || t`Unknown browser`;
}

const COLUMNS: Column<LoginSummary>[] = [
  { id: 'browser', header: t`Browser`, cell: browserText, rowHeader: true },
  { id: 'address', header: t`Address`, cell: ({ address }) => address },
  {
    id: 'began',
    header: t`Started`,
    cell: ({ began_at: at }) => <Time at={at} />,
    narrowLabeled: true,
  },
  {
    id: 'used',
    header: t`Last used`,
    cell: ({ last_used_at: at }) => <Time at={at} relative />,
    narrowLabeled: true,
  },
];

interface ActionProps {
  login: LoginSummary;
  busy: boolean;
  onEnd: () => void;
}

function LoginAction({ login, busy, onEnd }: ActionProps) {
  const browser = browserText(login);
  const { address, current } = login;
  if (current)
    return (
      <Text size="sm" c="dimmed">
        <Trans>This one</Trans>
      </Text>
    );
  return (
    <Button
      variant="subtle"
      color="red"
      c="var(--bad)"
      size="compact-sm"
      disabled={busy}
      onClick={onEnd}
      aria-label={t`End the login of ${{ browser }} at ${{ address }}`}
    >
      <Trans>End</Trans>
    </Button>
  );
}
