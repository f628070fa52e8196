import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Button, Paper, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import { translateExact } from '@/i18n/translate';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { sizeText } from '@/lib/sizes';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { Icon } from '@/ui/icons';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { TryAgain } from '@/ui/TryAgain';
import { useReauthAction } from '@/ui/useReauthAction';
import { emptyTrash, restore } from './actions';
import { FileIcon } from './FileIcon';
import classes from './Files.module.css';
import { fileNameOf, folderOf } from './paths';
import { trashQuery } from './queries';
import type { Root, TrashItem } from './types';

const AT_FIRST = 200;

/** A root's trash: deleted items until they are removed permanently. */
export function TrashView({ root, days }: { root: Root; days: number }) {
  const query = useQuery(trashQuery(root.name));
  const [confirming, setConfirming] = useState<readonly TrashItem[] | 'all' | null>(null);
  const { data, error } = query;
  const items = data?.items ?? [];
  const place = translateExact(root.title);
  return (
    <>
      <div className={classes.head}>
        <p className={classes.quiet}>
          <Trans>
            What you delete in {place} stays in the trash for{' '}
            <Plural value={days} one="# day" other="# days" /> and counts toward your quota.
          </Trans>
        </p>
        {items.length > 0 && (
          <Button
            variant="default"
            leftSection={<Icon name="trash" />}
            onClick={() => setConfirming('all')}
          >
            <Trans>Empty the trash</Trans>
          </Button>
        )}
      </div>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void query.refetch()} />}
      {query.isPending && <ListSkeleton rows={6} />}
      {data && !data.complete && (
        <Notice tone="warning">
          <Trans>The trash has more items than can be shown.</Trans>
        </Notice>
      )}
      {data && items.length === 0 && (
        <Paper className={classes.empty}>
          <Trans>The trash is empty.</Trans>
        </Paper>
      )}
      {items.length > 0 && (
        <Lines root={root} items={items} forever={(item) => setConfirming([item])} />
      )}
      <ConfirmDialog
        title={confirming === 'all' ? t`Empty the trash?` : t`Delete for good?`}
        opened={confirming !== null}
        onClose={() => setConfirming(null)}
        button={t`Delete for good`}
        keep={t`Keep`}
        danger
        act={() =>
          emptyTrash(
            root.name,
            confirming === 'all' ? null : (confirming ?? []).map(({ id }) => id),
          )
        }
      >
        <Text size="sm">
          <Trans>It can't be restored after that.</Trans>
        </Text>
      </ConfirmDialog>
    </>
  );
}

interface LinesProps {
  root: Root;
  items: readonly TrashItem[];
  forever: (item: TrashItem) => void;
}

function Lines({ root, items, forever }: LinesProps) {
  const [most, setMost] = useState(AT_FIRST);
  return (
    <>
      <Paper component="ul" className={classes.lines} aria-label={t`Trash`}>
        {items.slice(0, most).map((item) => (
          <Line key={item.id} root={root} item={item} forever={() => forever(item)} />
        ))}
      </Paper>
      {items.length > most && (
        <div>
          <Button variant="default" onClick={() => setMost(most + AT_FIRST)}>
            <Trans>Show more</Trans>
          </Button>
        </div>
      )}
    </>
  );
}

function Line({ root, item, forever }: { root: Root; item: TrashItem; forever: () => void }) {
  const { busy, change } = useReauthAction();
  const name = escapeInvisible(fileNameOf(item.path));
  const folder = folderOf(item.path);
  const place = folder === '' ? translateExact(root.title) : escapeInvisible(folder);
  return (
    <li className={classes.line}>
      <FileIcon entry={{ kind: item.kind, target_kind: null }} />
      <div className={classes.what}>
        <b>{name}</b>
        <p className={classes.quiet}>
          <Trans>
            from {place} · deleted <Time at={item.deleted_at} relative />
          </Trans>
          {item.size_bytes !== null && item.kind === 'file' && ` · ${sizeText(item.size_bytes)}`}
        </p>
      </div>
      <div className={classes.acts}>
        <Button
          variant="default"
          size="compact-sm"
          loading={busy}
          aria-label={t`Restore ${name}`}
          onClick={() => change(() => restore(root.name, [item.id]))}
        >
          <Trans>Restore</Trans>
        </Button>
        <Button
          variant="default"
          size="compact-sm"
          aria-label={t`Delete ${name} for good`}
          onClick={forever}
        >
          <Trans>Delete</Trans>
        </Button>
      </div>
    </li>
  );
}
