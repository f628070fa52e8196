import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Progress } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { sizeText } from '@/lib/sizes';
import classes from './Files.module.css';
import { fileNameOf, folderOf, join } from './paths';
import { isOver, percentOf, suggestFreeName, type UploadItem, type UploadState } from './upload';
import { uploads } from './uploader';

/** The uploads of this tab. */
export function UploadList() {
  const items = useSyncExternalStore(uploads.subscribe, uploads.snapshot);
  const visible = items.filter(({ state }) => state !== 'gone');
  if (visible.length === 0) return null;
  const over = visible.filter(isOver).length;
  const count = visible.length;
  return (
    <Paper component="section" className={classes.uploads} aria-label={t`Uploads`}>
      <div className={classes.line}>
        <b className={classes.what} role="status">
          {over === count ? t`All uploads have ended.` : t`Uploading: ${over} of ${count} done`}
        </b>
        {over > 0 && (
          <Button variant="default" size="compact-sm" onClick={uploads.clear}>
            <Trans>Clear</Trans>
          </Button>
        )}
      </div>
      <ul className={classes.lines}>
        {visible.map((item) => (
          <Line key={item.key} item={item} />
        ))}
      </ul>
    </Paper>
  );
}

const STATE_LABELS: Record<UploadState, string> = {
  waiting: t`waiting`,
  beginning: t({ message: 'starting', context: 'an upload' }),
  asking: t`the name is already taken`,
  sending: '',
  finishing: t`verifying`,
  paused: t({ message: 'paused', context: 'an upload' }),
  done: t({ message: 'done', context: 'an upload' }),
  failed: t({ message: 'failed', context: 'an upload' }),
  gone: t`discarded`,
};

/** Describe an upload's state, including whether a paused one continues by itself. */
const stateText = ({ state, waitsForNetwork }: UploadItem): string =>
  state === 'paused' && waitsForNetwork ? t`continues automatically` : STATE_LABELS[state];

function Line({ item }: { item: UploadItem }) {
  const name = escapeInvisible(fileNameOf(item.path));
  const percent = percentOf(item);
  const words = item.state === 'sending' ? t`${percent} %` : stateText(item);
  const reason = item.state === 'asking' ? null : item.message;
  return (
    <li className={classes.line}>
      <div className={classes.what}>
        <b>{name}</b>{' '}
        <span className={classes.quiet}>
          {sizeText(item.sizeBytes)} · {reason ? t`${words}: ${reason}` : words}
        </span>
        {!isOver(item) && (
          <Progress value={percent} size="sm" mt={4} aria-label={t`Progress of ${name}`} />
        )}
      </div>
      <Acts item={item} name={name} />
    </li>
  );
}

function Acts({ item, name }: { item: UploadItem; name: string }) {
  const actionButton = (label: string, event: Parameters<typeof uploads.dispatch>[1]) => (
    <Button
      variant="default"
      size="compact-sm"
      aria-label={t`${label}: ${name}`}
      onClick={() => uploads.dispatch(item.key, event)}
    >
      {label}
    </Button>
  );
  if (isOver(item)) return null;
  const { state, path } = item;
  const other = suggestFreeName(fileNameOf(path));
  return (
    <div className={classes.acts}>
      {state === 'asking' && item.replaceable && actionButton(t`Replace`, { type: 'replace' })}
      {state === 'asking' &&
        actionButton(t`Keep both as “${{ name: escapeInvisible(other) }}”`, {
          type: 'rename',
          path: join(folderOf(path), other),
        })}
      {state === 'paused' && actionButton(t`Continue`, { type: 'resume' })}
      {(state === 'sending' || state === 'waiting') &&
        actionButton(t`Pause`, { type: 'pause', message: null })}
      {actionButton(t`Cancel`, { type: 'cancel' })}
    </div>
  );
}
