import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Token } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import { TokenDialog } from '@/features/tokens/TokenDialog';
import { revokeToken, SCOPES, tokensQuery } from '@/features/tokens/tokens';
import { joinWithCommas } from '@/i18n/lists';
import classes from '@/ui/AccountSection.module.css';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { type Column, DataTable } from '@/ui/DataTable';
import { Icon } from '@/ui/icons';
import { Time } from '@/ui/Time';
import { ListSection } from './ListSection';

/** The user's access tokens, which programs use instead of a password. */
export function TokensSection() {
  const { data, error, refetch } = useQuery(tokensQuery);
  const [creating, setCreating] = useState(false);
  return (
    <ListSection
      id="tokens"
      title={<Term word="Access tokens">{t`Access tokens`}</Term>}
      loading={!data}
      error={error}
      onRetry={() => void refetch()}
      action={
        <Button
          leftSection={<Icon name="plus" />}
          disabled={!data}
          onClick={() => setCreating(true)}
        >
          <Trans>New token…</Trans>
        </Button>
      }
    >
      {data && (
        <DataTable
          label={t`Access tokens`}
          columns={COLUMNS}
          rows={data.items}
          rowKey={({ id }) => id}
          actions={(token) => <Revoke token={token} />}
          empty={
            <Text size="sm">
              <Trans>
                You have no access tokens. With a token, your programs can submit and view jobs
                without your password.
              </Trans>
            </Text>
          }
          plain
        />
      )}
      {data && (
        <TokenDialog opened={creating} maxDays={data.max_days} onClose={() => setCreating(false)} />
      )}
    </ListSection>
  );
}

const COLUMNS: Column<Token>[] = [
  { id: 'name', header: t`Name`, cell: ({ name }) => name, rowHeader: true },
  {
    id: 'scopes',
    header: <Trans context="what a token">Permissions</Trans>,
    cell: ({ scopes }) => joinWithCommas(scopes.map((scope) => SCOPES[scope].label)),
  },
  {
    id: 'used',
    header: t`Last used`,
    cell: ({ last_used_at: at }) =>
      at ? <Time at={at} relative /> : t({ message: 'not yet', context: 'used' }),
    narrowLabeled: true,
  },
  {
    id: 'ends',
    header: t({ message: 'Ends', context: 'when a token' }),
    className: ({ expired }) => (expired ? classes.ended : undefined),
    cell: ({ expired, expires_at: end }) =>
      expired ? (
        <Trans>
          expired, <Time at={end} />
        </Trans>
      ) : (
        <Time at={end} />
      ),
    narrowLabeled: true,
  },
];

function Revoke({ token }: { token: Token }) {
  const queries = useQueryClient();
  const [confirming, setConfirming] = useState(false);
  return (
    <>
      <Button
        variant="subtle"
        color="red"
        c="var(--bad)"
        size="compact-sm"
        onClick={() => setConfirming(true)}
        aria-label={t`Revoke token ${{ name: token.name }}`}
      >
        <Trans>Revoke</Trans>
      </Button>
      <ConfirmDialog
        title={t`Revoke token ${{ name: token.name }}?`}
        opened={confirming}
        onClose={() => setConfirming(false)}
        act={async () => {
          await revokeToken(token.id);
          await queries.invalidateQueries(tokensQuery);
        }}
        button={t`Revoke it`}
        keep={t`Keep it`}
        size="sm"
        danger
      >
        <Text size="sm">
          <Trans>Programs that use it are rejected from their next request on.</Trans>
        </Text>
      </ConfirmDialog>
    </>
  );
}
