import { Button, Paper, Skeleton } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { sentence } from '@/api/problem';
import { mayChange } from '@/features/account/roles';
import { useMe } from '@/features/account/useMe';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { SearchField } from '@/ui/SearchField';
import { Absences } from './Absences';
import { FILTERS } from './filters';
import classes from './People.module.css';
import { PeopleTable } from './PeopleTable';
import { type PeopleSearch, peopleQuery } from './queries';
import { can, nobodyWords, peopleText } from './words';

/** Everyone in the directory and everyone the portal remembers, for administrators. */
export function PeoplePage() {
  return (
    <AdminFrame tab="People" title="People" aside={<Adding />}>
      <People />
    </AdminFrame>
  );
}

/** What the page's address asks for, and the answer so far. */
function usePeople() {
  const { q: text = '', state = 'all' } = useSearch({ from: '/member/admin/people' });
  const search: PeopleSearch = { state, text };
  const asked = useInfiniteQuery({ ...peopleQuery(search), placeholderData: (before) => before });
  return { search, asked };
}

function Adding() {
  const me = useMe();
  const able = usePeople().asked.data?.pages[0]?.capabilities;
  if (!mayChange(me) || !able || !can(able, 'create')) return null;
  return (
    <div className={classes.actions}>
      <Button component={Link} to="/admin/new/people" variant="default">
        Import from a file
      </Button>
      <Button component={Link} to="/admin/new/person" leftSection={<Icon name="plus" />}>
        New person
      </Button>
    </div>
  );
}

function People() {
  const me = useMe();
  const { search, asked } = usePeople();
  const { data, error, isPending, isPlaceholderData, hasNextPage, isFetchingNextPage } = asked;
  const people = data?.pages.flatMap((page) => page.items) ?? [];
  const first = data?.pages[0];
  const last = data?.pages.at(-1);
  return (
    <>
      {first && !first.directory_problem && mayChange(me) && (
        <Absences capabilities={first.capabilities} />
      )}
      <Filters search={search} />
      <div className={classes.stack}>
        {error && <Notice tone="error">{sentence(error)}</Notice>}
        {first?.directory_problem && <Notice tone="warning">{first.directory_problem}</Notice>}
        {last?.incomplete && <Notice tone="warning">{last.incomplete}</Notice>}
        {isPending && !error && <Skeleton height={320} radius="lg" aria-label="Loading" />}
        {data && people.length === 0 && <Nobody search={search} />}
        {people.length > 0 && <PeopleTable people={people} busy={isPlaceholderData} />}
      </div>
      <div className={classes.foot}>
        <span className={classes.quiet} role="status">
          {people.length > 0 && `${peopleText(people.length)}${hasNextPage ? ' so far' : ''}`}
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

function Filters({ search }: { search: PeopleSearch }) {
  const navigate = useNavigate();
  const q = search.text === '' ? {} : { q: search.text };
  return (
    <search className={classes.filters}>
      <SearchField
        className={classes.find}
        label="Find by name, user name or mail"
        value={search.text}
        onSearch={(text) =>
          void navigate({
            to: '/admin/people',
            search: {
              ...(text === '' ? {} : { q: text }),
              ...(search.state === 'all' ? {} : { state: search.state }),
            },
            replace: true,
          })
        }
      />
      <ul className={classes.states} aria-label="Which people">
        {FILTERS.map(({ value, label }) => (
          <li key={value}>
            <Link
              to="/admin/people"
              search={value === 'all' ? q : { ...q, state: value }}
              className={classes.state}
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

function Nobody({ search }: { search: PeopleSearch }) {
  return (
    <Paper className={classes.empty}>
      <span>
        {search.text === ''
          ? nobodyWords(search.state)
          : `Nobody’s name, user name or mail has “${search.text}” in it.`}
      </span>
      {(search.text !== '' || search.state !== 'all') && (
        <Button component={Link} to="/admin/people" variant="default">
          Show everyone
        </Button>
      )}
    </Paper>
  );
}
