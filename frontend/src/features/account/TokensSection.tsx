import { Button, Group, Modal, Paper, Skeleton, Table, Text, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { sentence } from '@/api/problem';
import type { Token } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import { useAct } from '@/features/sessions/useAct';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import classes from './Account.module.css';
import { TokenDialog } from './TokenDialog';
import { revokeToken, SCOPES, tokensQuery } from './tokens';

/** What one's programs show instead of a password. */
export function TokensSection() {
  const { data, error } = useQuery(tokensQuery);
  const [creating, setCreating] = useState(false);
  return (
    <Paper className={classes.section} component="section" aria-labelledby="tokens">
      <div className={classes.top}>
        <Title order={2} size="h4" id="tokens">
          <Term>Access tokens</Term>
        </Title>
        <Button
          leftSection={<Icon name="plus" />}
          disabled={!data}
          onClick={() => setCreating(true)}
        >
          New token…
        </Button>
      </div>
      {error && <Notice tone="error">{sentence(error)}</Notice>}
      {!data && !error && <Skeleton height={60} aria-label="Loading" />}
      {data?.items.length === 0 && (
        <Text size="sm">
          You have none. With a token your own programs can submit jobs or look at them, without
          your password.
        </Text>
      )}
      {data && data.items.length > 0 && <TokenTable tokens={data.items} />}
      {data && (
        <TokenDialog opened={creating} maxDays={data.max_days} onClose={() => setCreating(false)} />
      )}
    </Paper>
  );
}

function TokenTable({ tokens }: { tokens: Token[] }) {
  return (
    <Table.ScrollContainer minWidth={560}>
      <Table verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>May</Table.Th>
            <Table.Th>Last used</Table.Th>
            <Table.Th>Ends</Table.Th>
            <Table.Th aria-label="Actions" />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {tokens.map((token) => (
            <Table.Tr key={token.id}>
              <Table.Td fw={600}>{token.name}</Table.Td>
              <Table.Td>{token.scopes.map((scope) => SCOPES[scope].label).join(', ')}</Table.Td>
              <Table.Td>
                {token.last_used_at ? <Time at={token.last_used_at} /> : 'not yet'}
              </Table.Td>
              <Table.Td className={token.expired ? classes.ended : undefined}>
                {token.expired && 'expired, '}
                <Time at={token.expires_at} />
              </Table.Td>
              <Table.Td ta="right">
                <Revoke token={token} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Revoke({ token }: { token: Token }) {
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [busy, act] = useAct();

  const revoke = (): Promise<void> =>
    act(async () => {
      await revokeToken(token.id);
      setAsking(false);
      await queries.invalidateQueries(tokensQuery);
    });

  return (
    <>
      <Button
        variant="subtle"
        color="red"
        c="var(--bad)"
        size="compact-sm"
        onClick={() => setAsking(true)}
        aria-label={`Revoke token ${token.name}`}
      >
        Revoke
      </Button>
      <Modal
        opened={asking}
        onClose={() => setAsking(false)}
        title={`Revoke token ${token.name}?`}
        size="sm"
      >
        <Text size="sm">Programs that use it are refused from their next request on.</Text>
        <Group justify="flex-end" mt="lg">
          <Button variant="default" onClick={() => setAsking(false)} data-autofocus>
            Keep it
          </Button>
          <Button color="red.9" loading={busy} onClick={() => void revoke()}>
            Revoke it
          </Button>
        </Group>
      </Modal>
    </>
  );
}
