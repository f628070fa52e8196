import { plural, t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { can } from '@/features/directory/capabilities';
import { translate } from '@/i18n/translate';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import classes from '@/ui/AdminList.module.css';
import { CellNote, type Column, DataTable, rowLink } from '@/ui/DataTable';
import { Icon } from '@/ui/icons';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { Notice } from '@/ui/Notice';
import { SearchField } from '@/ui/SearchField';
import { TryAgain } from '@/ui/TryAgain';
import { groupEffects, memberCountText } from './labels';
import { NewGroupDialog } from './NewGroupDialog';
import { groupsQuery } from './queries';
import type { GroupRow } from './types';

/** The directory's groups. */
export function GroupsPage() {
  return (
    <AdminFrame tab={t`Groups`} title={t`Groups`} aside={<Adding />}>
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
        <Trans>New group</Trans>
      </Button>
      <NewGroupDialog opened={making} onClose={() => setMaking(false)} />
    </>
  );
}

function Groups() {
  const me = useMe();
  const navigate = useNavigate();
  const { q: text = '', all = false } = useSearch({ from: '/signed-in/admin/groups' });
  const { data, error, isPending, isPlaceholderData, hasNextPage, isFetchingNextPage, ...query } =
    useInfiniteQuery({ ...groupsQuery({ text, all }), placeholderData: (before) => before });
  const groups = data?.pages.flatMap((page) => page.items) ?? [];
  const able = data?.pages[0]?.capabilities;
  const why = translate(able?.missing.groups);
  const incomplete = translate(data?.pages.at(-1)?.incomplete);
  const leftOut = data?.pages.reduce((sum, page) => sum + page.leftOut, 0) ?? 0;
  return (
    <>
      {why && mayChange(me) && (
        <p className={classes.absent}>
          <Trans>The portal can't change groups in this directory. {why}</Trans>
        </p>
      )}
      <search className={classes.filters}>
        <SearchField
          className={classes.find}
          label={t`Find by name or description`}
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
        {error && <TryAgain error={errorMessage(error)} onRetry={() => void query.refetch()} />}
        {incomplete && <Notice tone="warning">{incomplete}</Notice>}
        {isPending && !error && <ListSkeleton rows={6} />}
        {data && (groups.length > 0 || leftOut === 0) && (
          <DataTable
            label={t`Groups`}
            columns={COLUMNS}
            rows={groups}
            rowKey={({ name }) => name}
            busy={isPlaceholderData}
            empty={
              text === ''
                ? t`The directory has no groups yet.`
                : t`No group's name or description contains “${text}”.`
            }
          />
        )}
      </div>
      <div className={classes.foot}>
        <span className={classes.quiet} role="status">
          <Counted n={groups.length} more={hasNextPage} leftOut={leftOut} />
        </span>
        {hasNextPage && (
          <Button
            variant="default"
            loading={isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            <Trans>Show more</Trans>
          </Button>
        )}
      </div>
    </>
  );
}

interface CountedProps {
  n: number;
  /** whether more groups can be fetched */
  more: boolean;
  leftOut: number;
}

function Counted({ n, more, leftOut }: CountedProps) {
  const count = more
    ? plural(n, { one: '# group so far', other: '# groups so far' })
    : plural(n, { one: '# group', other: '# groups' });
  if (leftOut === 0) return n > 0 && count;
  const left = (
    <Trans>
      <Plural value={leftOut} one="# empty group is hidden." other="# empty groups are hidden." />{' '}
      <Link to="/admin/groups" search={{ all: true }} replace>
        <Plural value={leftOut} one="Show it too" other="Show them too" />
      </Link>
    </Trans>
  );
  return n === 0 ? (
    left
  ) : (
    <Trans>
      {count}. {left}
    </Trans>
  );
}

const COLUMNS: Column<GroupRow>[] = [
  {
    id: 'group',
    header: t`Group`,
    rowHeader: true,
    cell: ({ name, gid }) => (
      <>
        <Link
          to="/admin/groups/$group"
          params={{ group: name }}
          className={rowLink}
          preload={false}
        >
          {name}
        </Link>
        {gid !== null && <CellNote code>{gid}</CellNote>}
      </>
    ),
  },
  {
    id: 'members',
    header: t`Members`,
    cell: (group) => memberCountText(group.member_count),
    narrowBeside: true,
  },
  {
    id: 'purpose',
    header: t`Purpose`,
    cell: (group) => groupEffects(group) || '–',
    isEmpty: (group) => groupEffects(group) === '',
  },
];
