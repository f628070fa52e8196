import { Button, Paper, Progress } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import classes from './Files.module.css';
import { folderOf, join, nameOf, readable } from './paths';
import { sizeText } from './sizes';
import { anotherName, type Item, isOver, percentOf, type UploadState } from './upload';
import { uploads } from './uploader';

/** What is being uploaded, from wherever it was begun in this tab. */
export function UploadList() {
  const items = useSyncExternalStore(uploads.subscribe, uploads.snapshot);
  const shown = items.filter(({ state }) => state !== 'gone');
  if (shown.length === 0) return null;
  const over = shown.filter(isOver).length;
  return (
    <Paper component="section" className={classes.uploads} aria-label="Uploads">
      <div className={classes.line}>
        <b className={classes.what} role="status">
          {over === shown.length
            ? 'The uploads are over.'
            : `Uploading: ${over} of ${shown.length} done`}
        </b>
        {over > 0 && (
          <Button variant="default" size="compact-sm" onClick={uploads.clear}>
            Clear
          </Button>
        )}
      </div>
      <ul className={classes.lines}>
        {shown.map((item) => (
          <Line key={item.key} item={item} />
        ))}
      </ul>
    </Paper>
  );
}

const WORDS: Record<UploadState, string> = {
  waiting: 'waits for its turn',
  beginning: 'begins',
  asking: 'the name is taken',
  sending: '',
  finishing: 'is being checked',
  paused: 'paused',
  done: 'done',
  failed: 'failed',
  gone: 'given up',
};

/** By itself, or when somebody says so: that is the difference people want to know. */
const stateWords = ({ state, waitsForNetwork }: Item): string =>
  state === 'paused' && waitsForNetwork ? 'goes on by itself' : WORDS[state];

function Line({ item }: { item: Item }) {
  const name = readable(nameOf(item.path));
  const percent = percentOf(item);
  const words = item.state === 'sending' ? `${percent} %` : stateWords(item);
  return (
    <li className={classes.line}>
      <div className={classes.what}>
        <b>{name}</b>{' '}
        <span className={classes.quiet}>
          {sizeText(item.sizeBytes)} · {words}
          {item.message && item.state !== 'asking' && `: ${item.message}`}
        </span>
        {!isOver(item) && (
          <Progress value={percent} size="sm" mt={4} aria-label={`Progress of ${name}`} />
        )}
      </div>
      <Acts item={item} name={name} />
    </li>
  );
}

function Acts({ item, name }: { item: Item; name: string }) {
  const act = (label: string, event: Parameters<typeof uploads.tell>[1]) => (
    <Button
      variant="default"
      size="compact-sm"
      aria-label={`${label}: ${name}`}
      onClick={() => uploads.tell(item.key, event)}
    >
      {label}
    </Button>
  );
  if (isOver(item)) return null;
  const { state, path } = item;
  const other = anotherName(nameOf(path));
  return (
    <div className={classes.acts}>
      {state === 'asking' && item.replaceable && act('Replace', { type: 'replace' })}
      {state === 'asking' &&
        act(`Keep both as “${readable(other)}”`, {
          type: 'rename',
          path: join(folderOf(path), other),
        })}
      {state === 'paused' && act('Go on', { type: 'resume' })}
      {(state === 'sending' || state === 'waiting') &&
        act('Pause', { type: 'pause', message: null })}
      {act('Cancel', { type: 'cancel' })}
    </div>
  );
}
