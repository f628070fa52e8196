/** What happens to one upload, as a pure step from state to state. `uploader.ts` does the sending.
 *
 *   waiting → beginning → sending → finishing → done
 * From beginning it may come to `asking` (the name is already taken), from anywhere on the way to `paused`
 * (by the user, or because nothing answers), `failed` or `gone` (cancelled). */

import { t } from '@lingui/core/macro';
import type { Upload } from './types';

export type UploadState =
  | 'waiting'
  | 'beginning'
  | 'asking'
  | 'sending'
  | 'finishing'
  | 'paused'
  | 'done'
  | 'failed'
  | 'gone';

export interface Item {
  /** known in this tab only */
  key: number;
  root: string;
  path: string;
  sizeBytes: number;
  state: UploadState;
  /** the portal's name for it, once it has begun */
  id: string | null;
  chunkBytes: number;
  /** what the portal has for certain */
  offset: number;
  /** sent of the present chunk; not certain yet */
  inFlight: number;
  overwrite: boolean;
  /** whether "replace" can be offered while asking */
  replaceable: boolean;
  /** why it is paused or has failed */
  message: string | null;
  /** paused because nothing answered: continues automatically when something does */
  waitsForNetwork: boolean;
  /** how often in a row it was tried in vain */
  tries: number;
}

/** The portal's record of an upload. */
export type Begun = Pick<
  Upload,
  'id' | 'path' | 'size_bytes' | 'offset' | 'overwrite' | 'created_at'
>;

export type Event =
  | { type: 'begin' }
  | { type: 'begun'; id: string; chunkBytes: number; offset: number }
  | { type: 'taken'; replaceable: boolean; message: string }
  | { type: 'replace' }
  | { type: 'rename'; path: string }
  | { type: 'progress'; inFlight: number }
  | { type: 'arrived'; offset: number }
  | { type: 'lost'; message: string }
  | { type: 'pause'; message: string | null }
  | { type: 'resume' }
  | { type: 'finished' }
  | { type: 'fail'; message: string }
  | { type: 'cancel' };

export function newItem(key: number, root: string, path: string, sizeBytes: number): Item {
  return {
    key,
    root,
    path,
    sizeBytes,
    state: 'waiting',
    id: null,
    chunkBytes: 0,
    offset: 0,
    inFlight: 0,
    overwrite: false,
    replaceable: false,
    message: null,
    waitsForNetwork: false,
    tries: 0,
  };
}

/** An upload that was started elsewhere or earlier, and continues here at the offset from the portal. */
export function begunItem(key: number, upload: Begun, root: string): Item {
  const { id, path, size_bytes: sizeBytes, offset, overwrite } = upload;
  return { ...newItem(key, root, path, sizeBytes), id, offset: offset ?? 0, overwrite };
}

/**
 * Return why this file cannot continue the upload, or null if it can: the rest of a different file
 * would produce a corrupt mixture.
 */
export function notTheSame(
  upload: Begun,
  file: Pick<File, 'name' | 'size' | 'lastModified'>,
): string | null {
  const name = upload.path.slice(upload.path.lastIndexOf('/') + 1);
  const { name: chosen } = file;
  if (file.size !== upload.size_bytes)
    return t`“${chosen}” has a different size. Choose the file whose upload was started.`;
  if (file.lastModified > Date.parse(upload.created_at))
    return t`“${chosen}” was changed after its upload started. Discard that upload and start again.`;
  if (file.name !== name && !file.name.endsWith(extension(name)))
    return t`“${chosen}” is another type of file. Choose the file whose upload was started.`;
  return null;
}

const extension = (name: string): string => {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot) : '';
};

const OVER: ReadonlySet<UploadState> = new Set(['done', 'failed', 'gone']);
const MOVING: ReadonlySet<UploadState> = new Set(['beginning', 'sending', 'finishing']);

export const isOver = (item: Item): boolean => OVER.has(item.state);
/** Whether the upload is in progress. */
export const isMoving = (item: Item): boolean => MOVING.has(item.state);

const sendingState = (item: Item, offset: number): UploadState =>
  offset >= item.sizeBytes ? 'finishing' : 'sending';

/** The item after the event; an event that comes too late (an answer after "cancel") changes nothing. */
export function step(item: Item, event: Event): Item {
  if (event.type === 'cancel') return item.state === 'done' ? item : calm(item, 'gone', null);
  if (isOver(item)) return item;
  if (event.type === 'pause') return calm(item, 'paused', event.message);
  if (event.type === 'resume') return item.state === 'paused' ? waiting(item) : item;
  if (event.type === 'replace' || event.type === 'rename') return answered(item, event);
  // whole on the disk, even if someone pressed "pause" in the last moment
  if (event.type === 'finished') return calm({ ...item, offset: item.sizeBytes }, 'done', null);
  if (!isMoving(item) && event.type !== 'begin') return item;
  return moved(item, event);
}

function answered(item: Item, event: Extract<Event, { type: 'replace' | 'rename' }>): Item {
  if (item.state !== 'asking') return item;
  return event.type === 'replace'
    ? { ...waiting(item), overwrite: true }
    : { ...waiting(item), path: event.path };
}

function moved(item: Item, event: Event): Item {
  switch (event.type) {
    case 'begin':
      return item.state === 'waiting' ? { ...item, state: 'beginning', message: null } : item;
    case 'begun':
      return {
        ...item,
        id: event.id,
        chunkBytes: event.chunkBytes,
        offset: event.offset,
        inFlight: 0,
        state: sendingState(item, event.offset),
      };
    case 'taken':
      return { ...calm(item, 'asking', event.message), replaceable: event.replaceable };
    case 'progress':
      return { ...item, inFlight: event.inFlight };
    case 'arrived':
      return {
        ...item,
        offset: event.offset,
        inFlight: 0,
        tries: 0,
        state: sendingState(item, event.offset),
      };
    case 'lost':
      return {
        ...calm(item, 'paused', event.message),
        waitsForNetwork: true,
        tries: item.tries + 1,
      };
    case 'fail':
      return calm(item, 'failed', event.message);
    default:
      return item;
  }
}

const calm = (item: Item, state: UploadState, message: string | null): Item => ({
  ...item,
  state,
  message,
  inFlight: 0,
  waitsForNetwork: false,
});

const waiting = (item: Item): Item => calm(item, 'waiting', null);

/** The next chunk as [from, to) in bytes. */
export const chunkOf = (item: Item): [number, number] => [
  item.offset,
  Math.min(item.sizeBytes, item.offset + item.chunkBytes),
];

/** Sent, of 100. */
export function percentOf(item: Item): number {
  if (item.state === 'done') return 100;
  if (item.sizeBytes === 0) return 0;
  const sent = Math.min(item.sizeBytes, item.offset + item.inFlight);
  return Math.min(99, Math.floor((sent / item.sizeBytes) * 100));
}

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;

/** How long to wait before the next try, after so many in vain. */
export const waitMs = (tries: number): number =>
  Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.max(0, tries - 1));

/** A name beside the one that is taken: "a (2).csv", then "a (3).csv". */
export function anotherName(name: string): string {
  const dot = name.lastIndexOf('.');
  const at = dot > 0 ? dot : name.length;
  const [stem, ending] = [name.slice(0, at), name.slice(at)];
  const numbered = /^(.*) \((\d+)\)$/s.exec(stem);
  return numbered ? `${numbered[1]} (${Number(numbered[2]) + 1})${ending}` : `${stem} (2)${ending}`;
}
