import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Table } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { loginOf, nameOf } from '@/features/directory/names';
import classes from '@/ui/AdminList.module.css';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { roleText, userStateLabel } from './labels';
import type { UserRow } from './types';

interface Props {
  users: UserRow[];
  /** whether the current request is still pending */
  busy: boolean;
}

export function UsersTable({ users, busy }: Props) {
  return (
    <Paper className={classes.table} aria-busy={busy}>
      <Table verticalSpacing="xs" horizontalSpacing="md" aria-label={t`Users`}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>
              <Trans>User</Trans>
            </Table.Th>
            <Table.Th>
              <Trans>State</Trans>
            </Table.Th>
            <Table.Th>
              <Trans>Role</Trans>
            </Table.Th>
            <Table.Th>
              <Trans>Email</Trans>
            </Table.Th>
            <Table.Th>
              <Trans>Last login</Trans>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {users.map((row) => (
            <Row key={row.username} row={row} />
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

function Row({ row }: { row: UserRow }) {
  const plain = row.role === null || row.role === 'user';
  return (
    <Table.Tr className={classes.row}>
      <Table.Td>
        <Link
          to="/admin/users/$username"
          params={{ username: row.username }}
          className={classes.who}
          preload={false}
        >
          {nameOf(row)}
        </Link>
        <div className={classes.name}>
          {loginOf(row)}
          {row.uid !== null && ` · ${row.uid}`}
        </div>
      </Table.Td>
      <Table.Td>
        <StateChip {...userStateLabel(row)} />
      </Table.Td>
      <Table.Td data-empty={plain}>{plain ? '–' : roleText(row.role, row.admitted)}</Table.Td>
      <Table.Td data-empty={!row.email}>
        <span className={classes.above}>{row.email || '–'}</span>
      </Table.Td>
      <Table.Td data-empty={!row.last_login_at} data-says={t`Last login:`}>
        {row.last_login_at ? <Time at={row.last_login_at} relative /> : t`never`}
      </Table.Td>
    </Table.Tr>
  );
}
