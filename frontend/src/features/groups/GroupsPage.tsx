import { Button, Paper, Skeleton, Table } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { sentence } from '@/api/problem';
import { mayChange } from '@/features/account/roles';
import { useMe } from '@/features/account/useMe';
import { AdminFrame } from '@/features/admin/AdminFrame';
import classes from '@/features/people/People.module.css';
import { can } from '@/features/people/words';
import { plural } from '@/features/sessions/words';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { SearchField } from '@/ui/SearchField';
import { NewGroupDialog } from './NewGroupDialog';
import { groupsQuery } from './queries';
import type { GroupRow } from './shapes';
import { meaning, sizeText } from './words';

/** The directory's groups. */
export function GroupsPage() {
  return (
    <AdminFrame tab="Groups" title="Groups" aside={<Adding />}>
      <Groups />
    </AdminFrame>
  );
}

function Adding() {
  const me = useMe();
  const [making, setMaking] = useState(false);
  const { data } = useInfiniteQuery(groupsQuery({ text: '', all: false }));
  const able = data?.pages[0]?.capabilities;
  if (!mayChange(me) || !able || !can(able, 'groups')) return null;
  return (
    <>
      <Button leftSection={<Icon name="plus" />} onClick={() => setMaking(true)}>
        New group
      </Button>
      <NewGroupDialog opened={making} onClose={() => setMaking(false)} />
    </>
  );
}

function Groups() {
  const me = useMe();
  const navigate = useNavigate();
  const { q: text = '', all = false } = useSearch({ from: '/member/admin/groups' });
  const { data, error, isPending, isPlaceholderData, hasNextPage, isFetchingNextPage, ...asked } =
    useInfiniteQuery({ ...groupsQuery({ text, all }), placeholderData: (before) => before });
  const groups = data?.pages.flatMap((page) => page.items) ?? [];
  const able = data?.pages[0]?.capabilities;
  const incomplete = data?.pages.at(-1)?.incomplete;
  const leftOut = data?.pages.reduce((sum, page) => sum + page.leftOut, 0) ?? 0;
  return (
    <>
      {able?.missing.groups && mayChange(me) && (
        <p className={classes.absent}>
          In this directory the portal can't change groups. {able.missing.groups}
        </p>
      )}
      <search className={classes.filters}>
        <SearchField
          className={classes.find}
          label="Find by name or description"
          value={text}
          onSearch={(q) =>
            void navigate({
              to: '/admin/groups',
              search: { ...(q === '' ? {} : { q }), ...(all ? { all } : {}) },
              replace: true,
            })
          }
        />
      </search>
      <div className={classes.stack}>
        {error && <Notice tone="error">{sentence(error)}</Notice>}
        {incomplete && <Notice tone="warning">{incomplete}</Notice>}
        {isPending && !error && <Skeleton height={240} radius="lg" aria-label="Loading" />}
        {data && groups.length === 0 && leftOut === 0 && (
          <Paper className={classes.empty}>
            {text === ''
              ? 'The directory has no groups yet.'
              : `No group’s name or description has “${text}” in it.`}
          </Paper>
        )}
        {groups.length > 0 && <GroupsTable groups={groups} busy={isPlaceholderData} />}
      </div>
      <div className={classes.foot}>
        <span className={classes.quiet} role="status">
          {groups.length > 0 && `${plural(groups.length, 'group')}${hasNextPage ? ' so far' : ''}`}
          {leftOut > 0 && (
            <>
              {groups.length > 0 && '. '}
              {leftOut} with nobody in {leftOut === 1 ? 'it is' : 'them are'} left out.{' '}
              <Link to="/admin/groups" search={{ all: true }} replace>
                Show {leftOut === 1 ? 'it' : 'them'} too
              </Link>
            </>
          )}
        </span>
        {hasNextPage && (
          <Button
            variant="default"
            loading={isFetchingNextPage}
            onClick={() => void asked.fetchNextPage()}
          >
            Show more
          </Button>
        )}
      </div>
    </>
  );
}

function GroupsTable({ groups, busy }: { groups: GroupRow[]; busy: boolean }) {
  return (
    <Paper className={classes.table} aria-busy={busy}>
      <Table verticalSpacing="xs" horizontalSpacing="md" aria-label="Groups">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Group</Table.Th>
            <Table.Th>Members</Table.Th>
            <Table.Th>What it means</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {groups.map((group) => (
            <Table.Tr key={group.name} className={classes.row}>
              <Table.Td>
                <Link
                  to="/admin/groups/$group"
                  params={{ group: group.name }}
                  className={classes.who}
                  preload={false}
                >
                  {group.name}
                </Link>
                {group.gid !== null && <div className={classes.name}>{group.gid}</div>}
              </Table.Td>
              <Table.Td>{sizeText(group.member_count)}</Table.Td>
              <Table.Td data-empty={meaning(group) === ''}>{meaning(group) || '–'}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}
