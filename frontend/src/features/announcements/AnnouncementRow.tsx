import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import type { AdminAnnouncement } from '@/api/types';
import { clock } from '@/lib/clock';
import { useWithPassword } from '@/lib/reauth';
import { useNow } from '@/lib/useNow';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import type { StateLabel } from '@/ui/StateChip';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { useAction } from '@/ui/useAction';
import { AnnouncementText } from './AnnouncementCard';
import classes from './Announcements.module.css';
import { type AnnouncementState, announcementState } from './current';
import { LEVELS } from './form';
import { deleteAnnouncement, editAnnouncement } from './queries';

const STATES: Record<AnnouncementState, StateLabel> = {
  shown: { label: t({ message: 'Shown', context: 'an announcement' }), tone: 'good' },
  planned: { label: t({ message: 'Scheduled', context: 'an announcement' }), tone: 'waiting' },
  over: { label: t({ message: 'Ended', context: 'an announcement' }), tone: 'quiet' },
};

interface Props {
  announcement: AdminAnnouncement;
  onEdit: ((announcement: AdminAnnouncement) => void) | undefined;
}

export function AnnouncementRow({ announcement, onEdit }: Props) {
  const state = announcementState(announcement, useNow());
  const { title, created_by: author, updated_by: editor } = announcement;
  return (
    <Paper component="li" className={classes.row}>
      <div className={classes.head}>
        <StateChip {...STATES[state]} />
        <strong className={classes.title}>{announcement.title}</strong>
        <span className={classes.quiet}>{LEVELS[announcement.level].label}</span>
      </div>
      {announcement.text && (
        <div className={classes.text}>
          <AnnouncementText text={announcement.text} />
        </div>
      )}
      <div className={classes.foot}>
        <span className={classes.quiet}>
          <Period announcement={announcement} />{' '}
          {announcement.public && t`Also shown on the login page.`}{' '}
          {editor === author ? t`By ${author}.` : t`By ${author}, last changed by ${editor}.`}
        </span>
        {onEdit && (
          <div className={classes.actions}>
            {state === 'shown' && <EndNow announcement={announcement} />}
            <Button
              variant="default"
              size="compact-sm"
              onClick={() => onEdit(announcement)}
              aria-label={t`Edit ${title}`}
            >
              <Trans>Edit…</Trans>
            </Button>
            <Delete announcement={announcement} />
          </div>
        )}
      </div>
    </Paper>
  );
}

function Period({ announcement }: { announcement: AdminAnnouncement }) {
  return announcement.ends_at ? (
    <Trans>
      From <Time at={announcement.starts_at} /> until <Time at={announcement.ends_at} />.
    </Trans>
  ) : (
    <Trans>
      From <Time at={announcement.starts_at} /> until someone ends it.
    </Trans>
  );
}

function EndNow({ announcement }: { announcement: AdminAnnouncement }) {
  const { title } = announcement;
  const withPassword = useWithPassword();
  const [busy, run] = useAction();
  const end = async (): Promise<void> => {
    const ends_at = new Date(clock.now()).toISOString();
    await withPassword(() => editAnnouncement(announcement.id, announcement.version, { ends_at }));
    notifications.show({ message: t`“${title}” is no longer shown.` });
  };
  return (
    <Button
      variant="default"
      size="compact-sm"
      loading={busy}
      onClick={() => void run(end)}
      aria-label={t`End now: ${title}`}
    >
      <Trans>End now</Trans>
    </Button>
  );
}

function Delete({ announcement }: { announcement: AdminAnnouncement }) {
  const { title } = announcement;
  const [confirming, setConfirming] = useState(false);
  return (
    <>
      <Button
        variant="subtle"
        color="red"
        c="var(--bad)"
        size="compact-sm"
        onClick={() => setConfirming(true)}
        aria-label={t`Delete ${title}`}
      >
        <Trans>Delete…</Trans>
      </Button>
      <ConfirmDialog
        title={t`Delete the announcement?`}
        opened={confirming}
        onClose={() => setConfirming(false)}
        act={() => deleteAnnouncement(announcement.id)}
        button={t`Delete it`}
        keep={t`Keep it`}
        danger
      >
        <Text size="sm">
          <Trans>
            “{title}” is removed from all pages and from this list. The audit log keeps its text. To
            remove it from the pages only, end it instead.
          </Trans>
        </Text>
      </ConfirmDialog>
    </>
  );
}
