import { Button, Paper, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import type { AdminAnnouncement } from '@/api/types';
import { useWithPassword } from '@/features/account/reauth';
import { useAct } from '@/features/sessions/useAct';
import type { StateWords } from '@/features/sessions/words';
import { clock } from '@/lib/clock';
import { useNow } from '@/lib/useNow';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { AnnouncementText } from './AnnouncementCard';
import classes from './Announcements.module.css';
import { type AnnouncementState, announcementState } from './current';
import { LEVELS } from './form';
import { deleteAnnouncement, editAnnouncement } from './queries';

const STATES: Record<AnnouncementState, StateWords> = {
  shown: { label: 'Shown', tone: 'good' },
  planned: { label: 'Planned', tone: 'waiting' },
  over: { label: 'Over', tone: 'quiet' },
};

interface Props {
  announcement: AdminAnnouncement;
  onEdit: ((one: AdminAnnouncement) => void) | undefined;
}

export function AnnouncementRow({ announcement: one, onEdit }: Props) {
  const state = announcementState(one, useNow());
  return (
    <Paper component="li" className={classes.row}>
      <div className={classes.head}>
        <StateChip {...STATES[state]} />
        <strong className={classes.title}>{one.title}</strong>
        <span className={classes.quiet}>{LEVELS[one.level].label}</span>
      </div>
      {one.text && (
        <div className={classes.text}>
          <AnnouncementText text={one.text} />
        </div>
      )}
      <div className={classes.foot}>
        <span className={classes.quiet}>
          From <Time at={one.starts_at} />
          {one.ends_at ? (
            <>
              {' until '}
              <Time at={one.ends_at} />
            </>
          ) : (
            ' until someone ends it'
          )}
          {one.public && '. On the login page too'}. By {one.created_by}
          {one.updated_by !== one.created_by && `, last changed by ${one.updated_by}`}.
        </span>
        {onEdit && (
          <div className={classes.actions}>
            {state === 'shown' && <EndNow announcement={one} />}
            <Button
              variant="default"
              size="compact-sm"
              onClick={() => onEdit(one)}
              aria-label={`Edit ${one.title}`}
            >
              Edit…
            </Button>
            <Delete announcement={one} />
          </div>
        )}
      </div>
    </Paper>
  );
}

function EndNow({ announcement: one }: { announcement: AdminAnnouncement }) {
  const withPassword = useWithPassword();
  const [busy, act] = useAct();
  const end = async (): Promise<void> => {
    const ends_at = new Date(clock.now()).toISOString();
    await withPassword(() => editAnnouncement(one.id, one.version, { ends_at }));
    notifications.show({ message: `“${one.title}” is not shown any more.` });
  };
  return (
    <Button
      variant="default"
      size="compact-sm"
      loading={busy}
      onClick={() => void act(end)}
      aria-label={`End now: ${one.title}`}
    >
      End now
    </Button>
  );
}

function Delete({ announcement: one }: { announcement: AdminAnnouncement }) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button
        variant="subtle"
        color="red"
        c="var(--bad)"
        size="compact-sm"
        onClick={() => setAsking(true)}
        aria-label={`Delete ${one.title}`}
      >
        Delete…
      </Button>
      <ConfirmDialog
        title="Delete the announcement?"
        opened={asking}
        onClose={() => setAsking(false)}
        act={() => deleteAnnouncement(one.id)}
        button="Delete it"
        keep="Keep it"
        danger
      >
        <Text size="sm">
          “{one.title}” goes from all pages and from this list. The audit keeps what it said. To
          take it off the pages only, end it instead.
        </Text>
      </ConfirmDialog>
    </>
  );
}
