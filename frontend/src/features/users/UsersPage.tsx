import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Stack } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { errorMessage } from '@/api/problem';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { can } from '@/features/directory/capabilities';
import { translate } from '@/i18n/translate';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import classes from '@/ui/AdminList.module.css';
import choice from '@/ui/ChoiceLinks.module.css';
import { Icon } from '@/ui/icons';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { Notice } from '@/ui/Notice';
import { discardTypedSearches, SearchField } from '@/ui/SearchField';
import { TryAgain } from '@/ui/TryAgain';
import { FILTERS } from './filters';
import { noMatchText, usersText } from './labels';
import { MissingCapabilities } from './MissingCapabilities';
import { type UsersSearch, usersQuery } from './queries';
import { UsersTable } from './UsersTable';

/** The users in the directory and those known to the portal, for administrators. */
export function UsersPage() {
  return (
    <AdminFrame tab={t`Users`} title={t`Users`} aside={<Adding />}>
      <Users />
    </AdminFrame>
  );
}

/** Fetch the users that match the page's address. */
function useUsers() {
  const { q: text = '', state = 'all' } = useSearch({ from: '/signed-in/admin/users' });
  const search: UsersSearch = { state, text };
  const query = useInfiniteQuery({ ...usersQuery(search), placeholderData: (before) => before });
  return { search, query };
}

function Adding() {
  const me = useMe();
  const able = useUsers().query.data?.pages[0]?.capabilities;
  if (!mayChange(me) || !able || !can(able, 'create')) return null;
  return (
    <div className={classes.actions}>
      <Button component={Link} to="/admin/new/users" variant="default">
        <Trans>Import from a file</Trans>
      </Button>
      <Button component={Link} to="/admin/new/user" leftSection={<Icon name="plus" />}>
        <Trans>New user</Trans>
      </Button>
    </div>
  );
}

function Users() {
  const me = useMe();
  const { search, query } = useUsers();
  const { data, error, isPending, isPlaceholderData, hasNextPage, isFetchingNextPage } = query;
  const users = data?.pages.flatMap((page) => page.items) ?? [];
  const first = data?.pages[0];
  const last = data?.pages.at(-1);
  return (
    <>
      {first && !first.directory_problem && mayChange(me) && (
        <MissingCapabilities capabilities={first.capabilities} />
      )}
      <Filters search={search} />
      <div className={classes.stack}>
        {error && <TryAgain error={errorMessage(error)} onRetry={() => void query.refetch()} />}
        {first?.directory_problem && (
          <Notice tone="warning">{translate(first.directory_problem)}</Notice>
        )}
        {last?.incomplete && <Notice tone="warning">{translate(last.incomplete)}</Notice>}
        {isPending && !error && <ListSkeleton />}
        {data && (
          <UsersTable users={users} busy={isPlaceholderData} empty={<NoMatch search={search} />} />
        )}
      </div>
      <div className={classes.foot}>
        <span className={classes.quiet} role="status">
          {users.length > 0 && usersFoundText(users.length, hasNextPage)}
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

const usersFoundText = (n: number, more: boolean): string =>
  more ? plural(n, { one: '# user so far', other: '# users so far' }) : usersText(n);

function Filters({ search }: { search: UsersSearch }) {
  const navigate = useNavigate();
  const q = search.text === '' ? {} : { q: search.text };
  return (
    <search className={classes.filters}>
      <SearchField
        className={classes.find}
        label={t`Find by name, user name or e-mail address`}
        value={search.text}
        onSearch={(text) =>
          void navigate({
            to: '/admin/users',
            search: {
              ...(text === '' ? {} : { q: text }),
              ...(search.state === 'all' ? {} : { state: search.state }),
            },
            replace: true,
          })
        }
      />
      <ul className={choice.links} aria-label={t`Filter users`}>
        {FILTERS.map(({ value, label }) => (
          <li key={value}>
            <Link
              to="/admin/users"
              search={value === 'all' ? q : { ...q, state: value }}
              className={choice.link}
              data-here={search.state === value}
              activeOptions={{ exact: true, includeSearch: true }}
              replace
            >
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </search>
  );
}

function NoMatch({ search }: { search: UsersSearch }) {
  const { text } = search;
  return (
    <Stack align="flex-start">
      <span>
        {text === ''
          ? noMatchText(search.state)
          : t`No user has “${text}” in their name, user name or e-mail address.`}
      </span>
      {(text !== '' || search.state !== 'all') && (
        <Button component={Link} to="/admin/users" variant="default" onClick={discardTypedSearches}>
          <Trans>Show everyone</Trans>
        </Button>
      )}
    </Stack>
  );
}
