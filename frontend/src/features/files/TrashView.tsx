import { Button, Paper, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { sentence } from '@/api/problem';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { useChange } from '@/ui/useChange';
import { emptyTrash, restore } from './actions';
import { FileIcon } from './FileIcon';
import classes from './Files.module.css';
import { folderOf, nameOf, readable } from './paths';
import { trashQuery } from './queries';
import type { Root, TrashItem } from './shapes';
import { sizeText } from './sizes';
import { TryAgain } from './TryAgain';

const AT_FIRST = 200;

/** What was deleted of a place, until it goes for good. */
export function TrashView({ root, days }: { root: Root; days: number }) {
  const asked = useQuery(trashQuery(root.name));
  const [most, setMost] = useState(AT_FIRST);
  const [asking, ask] = useState<readonly TrashItem[] | 'all' | null>(null);
  const { data, error } = asked;
  const items = data?.items ?? [];
  return (
    <>
      <div className={classes.head}>
        <p className={classes.quiet}>
          What you delete in {root.title} stays here for {days} days and counts for your quota.
        </p>
        {items.length > 0 && (
          <Button variant="default" leftSection={<Icon name="trash" />} onClick={() => ask('all')}>
            Empty the trash
          </Button>
        )}
      </div>
      {error && <TryAgain error={sentence(error)} again={() => void asked.refetch()} />}
      {asked.isPending && <Skeleton height={240} radius="lg" aria-label="Loading" />}
      {data && !data.complete && (
        <Notice tone="warning">There is more in the trash than can be shown.</Notice>
      )}
      {data && items.length === 0 && <Paper className={classes.empty}>The trash is empty.</Paper>}
      {items.length > 0 && (
        <Paper component="ul" className={classes.lines} aria-label="Trash">
          {items.slice(0, most).map((item) => (
            <Line key={item.id} root={root} item={item} forever={() => ask([item])} />
          ))}
        </Paper>
      )}
      {items.length > most && (
        <div>
          <Button variant="default" onClick={() => setMost(most + AT_FIRST)}>
            Show more
          </Button>
        </div>
      )}
      <ConfirmDialog
        title={asking === 'all' ? 'Empty the trash?' : 'Delete for good?'}
        opened={asking !== null}
        onClose={() => ask(null)}
        button="Delete for good"
        keep="Keep"
        danger
        act={() =>
          emptyTrash(root.name, asking === 'all' ? null : (asking ?? []).map(({ id }) => id))
        }
      >
        <Text size="sm">It can’t be brought back after that.</Text>
      </ConfirmDialog>
    </>
  );
}

function Line({ root, item, forever }: { root: Root; item: TrashItem; forever: () => void }) {
  const { busy, change } = useChange();
  const name = readable(nameOf(item.path));
  const folder = folderOf(item.path);
  return (
    <li className={classes.line}>
      <FileIcon entry={{ kind: item.kind, target_kind: null }} />
      <div className={classes.what}>
        <b>{name}</b>
        <p className={classes.quiet}>
          from {folder === '' ? root.title : readable(folder)} · deleted{' '}
          <Time at={item.deleted_at} />
          {item.size_bytes !== null && item.kind === 'file' && ` · ${sizeText(item.size_bytes)}`}
        </p>
      </div>
      <div className={classes.acts}>
        <Button
          variant="default"
          size="compact-sm"
          loading={busy}
          aria-label={`Bring back ${name}`}
          onClick={() => change(() => restore(root.name, [item.id]))}
        >
          Bring back
        </Button>
        <Button
          variant="default"
          size="compact-sm"
          aria-label={`Delete ${name} for good`}
          onClick={forever}
        >
          Delete
        </Button>
      </div>
    </li>
  );
}
