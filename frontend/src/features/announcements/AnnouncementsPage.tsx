import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Skeleton } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { AdminAnnouncement } from '@/api/types';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { useNow } from '@/lib/useNow';
import { DialogShell } from '@/ui/ConfirmDialog';
import { Icon } from '@/ui/icons';
import { TryAgain } from '@/ui/TryAgain';
import { AnnouncementForm } from './AnnouncementForm';
import { AnnouncementRow } from './AnnouncementRow';
import classes from './Announcements.module.css';
import { type AnnouncementState, announcementState } from './current';
import { announcementsQuery } from './queries';

/** The administrators' page for announcements. */
export function AnnouncementsPage() {
  const change = mayChange(useMe());
  const [editing, setEditing] = useState<AdminAnnouncement | 'new' | null>(null);
  const close = (): void => setEditing(null);
  return (
    <AdminFrame
      tab={t`Announcements`}
      title={t`Announcements`}
      aside={
        change && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setEditing('new')}>
            <Trans>New announcement…</Trans>
          </Button>
        )
      }
    >
      <List onEdit={change ? setEditing : undefined} />
      <DialogShell
        opened={editing !== null}
        onClose={close}
        title={editing === 'new' ? t`New announcement` : t`Edit the announcement`}
        size="lg"
      >
        {editing !== null && (
          <AnnouncementForm before={editing === 'new' ? null : editing} onDone={close} />
        )}
      </DialogShell>
    </AdminFrame>
  );
}

interface ListProps {
  /** absent for users who may only view */
  onEdit: ((announcement: AdminAnnouncement) => void) | undefined;
}

const ORDER: Record<AnnouncementState, number> = { shown: 0, planned: 1, over: 2 };

function List({ onEdit }: ListProps) {
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } =
    useInfiniteQuery(announcementsQuery);
  const now = useNow();
  const rank = (announcement: AdminAnnouncement): number =>
    ORDER[announcementState(announcement, now)];
  const all = data?.pages.flatMap((page) => page.items) ?? [];
  const rows = all.sort((a, b) => rank(a) - rank(b) || b.starts_at.localeCompare(a.starts_at));
  return (
    <>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={200} radius="lg" aria-label={t`Loading`} />}
      {data && all.length === 0 && (
        <Paper className={classes.none}>
          <Trans>
            There are no announcements. An announcement appears at the top of everyone's pages at
            once, or from the time you choose: a maintenance, a full disk, a new GPU type.
          </Trans>
        </Paper>
      )}
      <ul className={classes.list}>
        {rows.map((announcement) => (
          <AnnouncementRow key={announcement.id} announcement={announcement} onEdit={onEdit} />
        ))}
      </ul>
      {hasNextPage && (
        <Button
          variant="default"
          mt="md"
          loading={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
        >
          <Trans>Show older ones</Trans>
        </Button>
      )}
    </>
  );
}
