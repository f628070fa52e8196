import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { errorMessage } from '@/api/problem';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { TryAgain } from '@/ui/TryAgain';
import classes from './Audit.module.css';
import { AuditFilters } from './AuditFilters';
import { AuditTable } from './AuditTable';
import { auditQuery } from './queries';
import { type AuditSearch, exportHref } from './search';

/** The audit log, newest event first, for administrators. */
export function AuditPage() {
  const search = useSearch({ from: '/signed-in/admin/audit' });
  return (
    <AdminFrame tab={t`Audit`} title={t`Audit`} aside={<Downloads search={search} />}>
      <AuditFilters search={search} />
      <Events search={search} />
    </AdminFrame>
  );
}

function Downloads({ search }: { search: AuditSearch }) {
  const isFiltered = Object.keys(search).length > 0;
  return (
    <div className={classes.downloads}>
      <span className={classes.quiet}>
        {isFiltered ? t`Download the results:` : t`Download all:`}
      </span>
      <a href={exportHref(search, 'csv')} download>
        CSV
      </a>
      <a href={exportHref(search, 'jsonl')} download>
        <Trans>JSON lines</Trans>
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
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void query.refetch()} />}
      {isPending && !error && <ListSkeleton />}
      {data && events.length === 0 && <NothingFound search={search} />}
      {events.length > 0 && <AuditTable events={events} />}
      {hasNextPage && (
        <div ref={more} className={classes.more}>
          <Button
            variant="default"
            loading={isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            <Trans>Show older ones</Trans>
          </Button>
        </div>
      )}
      {events.length > 0 && !hasNextPage && (
        <p className={classes.end}>
          <Trans>All events are shown.</Trans>
        </p>
      )}
    </>
  );
}

/** Call `callback` whenever the element becomes visible. */
function useWhenSeen(callback: () => void): (element: HTMLDivElement | null) => void {
  const latest = useRef(callback);
  useEffect(() => {
    latest.current = callback;
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
  const isFiltered = Object.keys(search).length > 0;
  return (
    <Paper className={classes.none}>
      {isFiltered ? (
        <Trans>
          No matching events. <Link to="/admin/audit">Show everything</Link>
        </Trans>
      ) : (
        t`No events are recorded yet.`
      )}
    </Paper>
  );
}
