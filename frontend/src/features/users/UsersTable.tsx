import { t } from '@lingui/core/macro';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { displayNameOf, loginOf } from '@/features/directory/names';
import { aboveRowLink, CellNote, type Column, DataTable, rowLink } from '@/ui/DataTable';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { roleText, userStateLabel } from './labels';
import type { UserRow } from './types';

interface Props {
  users: UserRow[];
  /** whether the current request is still pending */
  busy: boolean;
  empty: ReactNode;
}

export function UsersTable({ users, busy, empty }: Props) {
  return (
    <DataTable
      label={t`Users`}
      columns={COLUMNS}
      rows={users}
      rowKey={({ username }) => username}
      busy={busy}
      empty={empty}
    />
  );
}

const isPlain = ({ role }: UserRow): boolean => role === null || role === 'user';

const COLUMNS: Column<UserRow>[] = [
  {
    id: 'user',
    header: t`User`,
    rowHeader: true,
    cell: (row) => (
      <>
        <Link
          to="/admin/users/$username"
          params={{ username: row.username }}
          className={rowLink}
          preload={false}
        >
          {displayNameOf(row)}
        </Link>
        <CellNote code>
          {loginOf(row)}
          {row.uid !== null && ` · ${row.uid}`}
        </CellNote>
      </>
    ),
  },
  {
    id: 'state',
    header: t`State`,
    narrowBeside: true,
    cell: (row) => <StateChip {...userStateLabel(row)} />,
  },
  {
    id: 'role',
    header: t`Role`,
    cell: (row) => (isPlain(row) ? '–' : roleText(row.role, row.admitted)),
    isEmpty: isPlain,
  },
  {
    id: 'email',
    header: t`E-mail`,
    cell: ({ email }) => <span className={aboveRowLink}>{email || '–'}</span>,
    isEmpty: ({ email }) => !email,
  },
  {
    id: 'login',
    header: t`Last login`,
    cell: ({ last_login_at: at }) => (at ? <Time at={at} relative /> : t`never`),
    narrowLabeled: true,
    isEmpty: ({ last_login_at: at }) => !at,
  },
];
