/** The state machine of one upload, as a pure function. `uploader.ts` does the sending.
 *
 *   waiting → beginning → sending → finishing → done
 * `beginning` may lead to `asking` (the name is taken); every state before `done` to `paused` (by the
 * user, or because nothing responds), `failed` or `gone` (canceled). */

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

export interface UploadItem {
  /** known in this tab only */
  key: number;
  root: string;
  path: string;
  sizeBytes: number;
  state: UploadState;
  /** the portal's id of the upload, once it was created */
  id: string | null;
  chunkBytes: number;
  /** the bytes that the portal has confirmed */
  offset: number;
  /** bytes of the current chunk sent but not confirmed */
  inFlight: number;
  overwrite: boolean;
  /** whether "replace" can be offered while asking */
  replaceable: boolean;
  /** why it is paused or has failed */
  message: string | null;
  /** paused because nothing responded: continues automatically when something does */
  waitsForNetwork: boolean;
  /** the number of consecutive failed attempts */
  tries: number;
}

/** The portal's record of an upload. */
export type StartedUpload = Pick<
  Upload,
  'id' | 'path' | 'size_bytes' | 'offset' | 'overwrite' | 'created_at'
>;

export type UploadEvent =
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

export function newItem(key: number, root: string, path: string, sizeBytes: number): UploadItem {
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

/** Create an item that continues an upload of another tab, or an earlier one, at the portal's
 * offset. */
export function resumedItem(key: number, upload: StartedUpload, root: string): UploadItem {
  const { id, path, size_bytes: sizeBytes, offset, overwrite } = upload;
  return { ...newItem(key, root, path, sizeBytes), id, offset: offset ?? 0, overwrite };
}

/**
 * Return why this file cannot continue the upload, or null if it can: the rest of a different file
 * would produce a corrupt mixture.
 */
export function resumeProblem(
  upload: StartedUpload,
  file: Pick<File, 'name' | 'size' | 'lastModified'>,
): string | null {
  const name = upload.path.slice(upload.path.lastIndexOf('/') + 1);
  const { name: chosen } = file;
  if (file.size !== upload.size_bytes)
    return t`“${chosen}” has a different size. Choose the file whose upload was started.`;
  if (file.lastModified > Date.parse(upload.created_at))
    return t`“${chosen}” was changed after its upload started. Discard that upload, then upload the file again.`;
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

export const isOver = (item: UploadItem): boolean => OVER.has(item.state);
/** Return whether the upload is in progress. */
export const isMoving = (item: UploadItem): boolean => MOVING.has(item.state);

const sendingState = (item: UploadItem, offset: number): UploadState =>
  offset >= item.sizeBytes ? 'finishing' : 'sending';

/** Return the item after the event. A late event (a response after "cancel") changes nothing. */
export function step(item: UploadItem, event: UploadEvent): UploadItem {
  if (event.type === 'cancel') return item.state === 'done' ? item : stop(item, 'gone', null);
  if (isOver(item)) return item;
  if (event.type === 'pause') return stop(item, 'paused', event.message);
  if (event.type === 'resume') return item.state === 'paused' ? waiting(item) : item;
  if (event.type === 'replace' || event.type === 'rename') return resolveConflict(item, event);
  // complete on the disk, even if it was paused in the last moment
  if (event.type === 'finished') return stop({ ...item, offset: item.sizeBytes }, 'done', null);
  if (!isMoving(item) && event.type !== 'begin') return item;
  return advance(item, event);
}

function resolveConflict(
  item: UploadItem,
  event: Extract<UploadEvent, { type: 'replace' | 'rename' }>,
): UploadItem {
  if (item.state !== 'asking') return item;
  return event.type === 'replace'
    ? { ...waiting(item), overwrite: true }
    : { ...waiting(item), path: event.path };
}

function advance(item: UploadItem, event: UploadEvent): UploadItem {
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
      return { ...stop(item, 'asking', event.message), replaceable: event.replaceable };
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
        ...stop(item, 'paused', event.message),
        waitsForNetwork: true,
        tries: item.tries + 1,
      };
    case 'fail':
      return stop(item, 'failed', event.message);
    default:
      return item;
  }
}

const stop = (item: UploadItem, state: UploadState, message: string | null): UploadItem => ({
  ...item,
  state,
  message,
  inFlight: 0,
  waitsForNetwork: false,
});

const waiting = (item: UploadItem): UploadItem => stop(item, 'waiting', null);

/** Return the next chunk as [from, to) in bytes. */
export const chunkOf = (item: UploadItem): [number, number] => [
  item.offset,
  Math.min(item.sizeBytes, item.offset + item.chunkBytes),
];

/** Return the percentage sent. */
export function percentOf(item: UploadItem): number {
  if (item.state === 'done') return 100;
  if (item.sizeBytes === 0) return 0;
  const sent = Math.min(item.sizeBytes, item.offset + item.inFlight);
  return Math.min(99, Math.floor((sent / item.sizeBytes) * 100));
}

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;

/** Return the delay before the next attempt, after `tries` failed ones. */
export const retryDelayMs = (tries: number): number =>
  Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.max(0, tries - 1));

/** Suggest a free name: "a (2).csv", then "a (3).csv". */
export function suggestFreeName(name: string): string {
  const dot = name.lastIndexOf('.');
  const stemEnd = dot > 0 ? dot : name.length;
  const [stem, ending] = [name.slice(0, stemEnd), name.slice(stemEnd)];
  const numbered = /^(.*) \((\d+)\)$/s.exec(stem);
  return numbered ? `${numbered[1]} (${Number(numbered[2]) + 1})${ending}` : `${stem} (2)${ending}`;
}
