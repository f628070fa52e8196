import { Button, Paper, Skeleton } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { sentence } from '@/api/problem';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { Notice } from '@/ui/Notice';
import classes from './Audit.module.css';
import { AuditFilters } from './AuditFilters';
import { AuditTable } from './AuditTable';
import { auditQuery } from './queries';
import { type AuditSearch, exportHref } from './search';

/** Who did what, newest first, for administrators. */
export function AuditPage() {
  const search = useSearch({ from: '/member/admin/audit' });
  return (
    <AdminFrame tab="Audit" title="Audit" aside={<Downloads search={search} />}>
      <AuditFilters search={search} />
      <Events search={search} />
    </AdminFrame>
  );
}

function Downloads({ search }: { search: AuditSearch }) {
  const some = Object.keys(search).length > 0;
  return (
    <div className={classes.downloads}>
      <span className={classes.quiet}>Download {some ? 'what is found' : 'all'}:</span>
      <a href={exportHref(search, 'csv')} download>
        CSV
      </a>
      <a href={exportHref(search, 'jsonl')} download>
        JSON lines
      </a>
    </div>
  );
}

function Events({ search }: { search: AuditSearch }) {
  const query = useInfiniteQuery(auditQuery(search));
  const { data, error, isPending, hasNextPage, isFetchingNextPage, isFetching } = query;
  const events = data?.pages.flatMap((page) => page.items) ?? [];
  const more = useWhenSeen(() => {
    if (hasNextPage && !isFetching && !error) void query.fetchNextPage();
  });
  return (
    <>
      {error && (
        <div className={classes.trouble}>
          <Notice tone="error">{sentence(error)}</Notice>
          <Button variant="default" loading={isFetching} onClick={() => void query.refetch()}>
            Try again
          </Button>
        </div>
      )}
      {isPending && !error && <Skeleton height={320} radius="lg" aria-label="Loading" />}
      {data && events.length === 0 && <NothingFound search={search} />}
      {events.length > 0 && <AuditTable events={events} />}
      {hasNextPage && (
        <div ref={more} className={classes.more}>
          <Button
            variant="default"
            loading={isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            Show older ones
          </Button>
        </div>
      )}
      {events.length > 0 && !hasNextPage && <p className={classes.end}>That is all there is.</p>}
    </>
  );
}

/** Calls `act` when the element comes into sight, and again whenever it does so anew. */
function useWhenSeen(act: () => void): (element: HTMLDivElement | null) => void {
  const latest = useRef(act);
  useEffect(() => {
    latest.current = act;
  });
  const observer = useRef<IntersectionObserver | null>(null);
  return useRef((element: HTMLDivElement | null) => {
    observer.current?.disconnect();
    if (element === null) return;
    observer.current = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) latest.current();
    });
    observer.current.observe(element);
  }).current;
}

function NothingFound({ search }: { search: AuditSearch }) {
  const some = Object.keys(search).length > 0;
  return (
    <Paper className={classes.none}>
      {some ? (
        <>
          Nothing that is written down is like this. <Link to="/admin/audit">Show everything</Link>
        </>
      ) : (
        'Nothing is written down yet.'
      )}
    </Paper>
  );
}
