/** The uploads of this tab, two at a time. They continue on other pages, and retry a chunk after
 * the network was lost. */
import { t } from '@lingui/core/macro';
import { api, unwrap } from '@/api/client';
import { lostLogin } from '@/api/lostLogin';
import { ApiError, errorMessage } from '@/api/problem';
import { translate } from '@/i18n/translate';
import { onLogout } from '@/lib/onLogout';
import { queryClient } from '@/lib/queries';
import { cancelUpload, refresh } from './actions';
import { folderOf } from './paths';
import { entryKey, UPLOADS_KEY } from './queries';
import { sendChunk } from './send';
import {
  chunkOf,
  isMoving,
  isOver,
  newItem,
  resumedItem,
  retryDelayMs,
  type StartedUpload,
  step,
  type UploadEvent,
  type UploadItem,
} from './upload';

const AT_ONCE = 2;
const CHECKSUM_AGAIN_MS = 1000;

const files = new Map<number, File>();
const aborts = new Map<number, () => void>();
/** the current run of each item; resuming starts a new one */
const runs = new Map<number, number>();
const listeners = new Set<() => void>();
let items: readonly UploadItem[] = [];
let owner: string | null = null;
let nextKey = 1;
let nextRun = 1;

export const uploads = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  snapshot: (): readonly UploadItem[] => items,
  /** Drop the uploads of a previous user of this tab. */
  setOwner(username: string): void {
    if (owner === username) return;
    forgetAll();
    owner = username;
  },
  /** Start uploading files, and return their items' keys. */
  add(root: string, folder: string, chosen: readonly File[]): number[] {
    const fresh = chosen.map((file) => {
      const path = folder === '' ? file.name : `${folder}/${file.name}`;
      const item = newItem(nextKey++, root, path, file.size);
      files.set(item.key, file);
      return item;
    });
    set([...items, ...fresh]);
    startWaiting();
    return fresh.map(({ key }) => key);
  },
  /** Return an item once it has ended; undefined if it was removed, for example by a logout. */
  whenEnded(key: number): Promise<UploadItem | undefined> {
    return new Promise((resolve) => {
      const check = (): boolean => {
        const item = find(key);
        if (item && !isOver(item)) return false;
        resolve(item);
        return true;
      };
      if (check()) return;
      const unsubscribe = uploads.subscribe(() => {
        if (check()) unsubscribe();
      });
    });
  },
  /** Continue an upload of another tab, or one from before this page was loaded. */
  resume(upload: StartedUpload, root: string, file: File): void {
    if (items.some(({ id, state }) => id === upload.id && !OVER_HERE.has(state))) return;
    const item = resumedItem(nextKey++, upload, root);
    files.set(item.key, file);
    set([...items, item]);
    startWaiting();
  },
  dispatch(key: number, event: UploadEvent): void {
    const before = find(key);
    if (!before) return;
    apply(key, event);
    const stopped = event.type === 'pause' || event.type === 'cancel';
    if (stopped) aborts.get(key)?.();
    if (event.type === 'cancel' && before.id && before.state !== 'done') void discard(before.id);
    startWaiting();
  },
  /** Remove ended uploads from the list. */
  clear(): void {
    for (const item of items) if (isOver(item)) files.delete(item.key);
    set(items.filter((item) => !isOver(item)));
  },
};

/** states in which this tab no longer handles the item */
const OVER_HERE: ReadonlySet<UploadItem['state']> = new Set(['failed', 'gone']);

const find = (key: number): UploadItem | undefined => items.find((item) => item.key === key);

function set(next: readonly UploadItem[]): void {
  items = next;
  for (const listener of listeners) listener();
}

function apply(key: number, event: UploadEvent): UploadItem | undefined {
  set(items.map((item) => (item.key === key ? step(item, event) : item)));
  return find(key);
}

/** Stop all uploads. The received parts stay at the portal, where their owner can continue. */
function forgetAll(): void {
  owner = null;
  for (const item of items) aborts.get(item.key)?.();
  files.clear();
  set([]);
}

onLogout(forgetAll);

/** Start waiting uploads up to the limit. */
function startWaiting(): void {
  let moving = items.filter(isMoving).length;
  for (const { key, state } of items) {
    if (moving >= AT_ONCE) return;
    if (state !== 'waiting') continue;
    moving += 1;
    void run(key);
  }
}

async function run(key: number): Promise<void> {
  const mine = nextRun++;
  runs.set(key, mine);
  const isCurrent = (): boolean => runs.get(key) === mine && find(key) !== undefined;
  apply(key, { type: 'begin' });
  try {
    await begin(key, isCurrent);
    await sendAll(key, isCurrent);
    await finish(key, isCurrent);
  } catch (error) {
    if (isCurrent()) handleError(key, error);
  } finally {
    if (isCurrent()) aborts.delete(key);
    startWaiting();
  }
}

async function begin(key: number, isCurrent: () => boolean): Promise<void> {
  const item = find(key);
  if (item?.state !== 'beginning') return;
  const { root, path, sizeBytes, overwrite } = item;
  const upload = await unwrap(
    item.id === null
      ? api.POST('/api/v1/files/uploads', {
          body: { root, path, size_bytes: sizeBytes, overwrite },
        })
      : api.GET('/api/v1/files/uploads/{upload_id}', { params: { path: { upload_id: item.id } } }),
  );
  const { id, chunk_bytes: chunkBytes, offset } = upload;
  if (isCurrent() && find(key)?.state === 'beginning')
    apply(key, { type: 'begun', id, chunkBytes, offset: offset ?? 0 });
  // paused or canceled during creation, before its id was known
  else if (item.id === null) await discard(id);
}

async function sendAll(key: number, isCurrent: () => boolean): Promise<void> {
  for (;;) {
    const item = find(key);
    const file = files.get(key);
    if (!isCurrent() || item?.state !== 'sending' || !item.id || !file) return;
    const [from, to] = chunkOf(item);
    const sending = sendChunk(item.id, from, file.slice(from, to), (sent) => {
      if (isCurrent()) apply(key, { type: 'progress', inFlight: Math.min(sent, to - from) });
    });
    aborts.set(key, sending.abort);
    const arrived = await sending.answer;
    if (isCurrent()) apply(key, { type: 'arrived', offset: arrived });
  }
}

/** Ask the portal to complete the upload, again while it still computes the checksum of a large file
 * (`done` is false). */
async function finish(key: number, isCurrent: () => boolean): Promise<void> {
  for (;;) {
    const item = find(key);
    if (!isCurrent() || item?.state !== 'finishing' || !item.id) return;
    const { done } = await unwrap(
      api.POST('/api/v1/files/uploads/{upload_id}/complete', {
        params: { path: { upload_id: item.id } },
        body: {},
      }),
    );
    if (done) {
      finished(key);
      return;
    }
    await new Promise((resolve) => window.setTimeout(resolve, CHECKSUM_AGAIN_MS));
  }
}

function finished(key: number): void {
  const item = find(key);
  if (!item) return;
  apply(key, { type: 'finished' });
  files.delete(key);
  refresh({ root: item.root, path: folderOf(item.path) });
  void queryClient.invalidateQueries({ queryKey: entryKey(item) });
  void queryClient.invalidateQueries({ queryKey: UPLOADS_KEY });
}

/** Return whether an error is temporary: no response, a proxy without a portal behind it, or a busy
 * portal. */
const isTemporary = ({ status, slug }: ApiError): boolean =>
  status === 0 || status === 429 || (status >= 500 && status !== 507) || slug === 'file-busy';

function handleError(key: number, error: unknown): void {
  if (!(error instanceof ApiError)) {
    // the file is no longer readable: it was moved or changed after it was selected
    apply(key, { type: 'fail', message: t`The file could not be read on your computer.` });
  } else if (error.slug === 'aborted') return;
  else if (error.slug === 'file-exists') {
    const replaceable = error.more.replaceable === true;
    apply(key, { type: 'taken', replaceable, message: translate(error.message) });
  } else if (error.slug === 'wrong-offset') {
    // the received size is requested on restart
    apply(key, { type: 'lost', message: errorMessage(error) });
    apply(key, { type: 'resume' });
  } else if (error.status === 401) {
    apply(key, {
      type: 'pause',
      message: t`Your login has ended. Continue after you log in again.`,
    });
    void lostLogin.requestLogin().then((renewed) => {
      if (renewed) uploads.dispatch(key, { type: 'resume' });
    });
  } else if (isTemporary(error)) retryLater(key, errorMessage(error));
  else {
    apply(key, { type: 'fail', message: errorMessage(error) });
    const id = find(key)?.id;
    if (id) void discard(id);
  }
}

/** Retry after a delay, or as soon as the browser's network is back. */
function retryLater(key: number, message: string): void {
  const item = apply(key, { type: 'lost', message });
  if (!item?.waitsForNetwork) return;
  const { tries } = item;
  window.setTimeout(() => {
    const now = find(key);
    if (now?.waitsForNetwork && now.tries === tries) uploads.dispatch(key, { type: 'resume' });
  }, retryDelayMs(tries));
}

window.addEventListener('online', () => {
  for (const { key, waitsForNetwork } of items)
    if (waitsForNetwork) uploads.dispatch(key, { type: 'resume' });
});

/** Leaving the page would end the uploads, so let the browser ask first. */
window.addEventListener('beforeunload', (event) => {
  if (items.some((item) => isMoving(item) || item.waitsForNetwork)) event.preventDefault();
});

/** Delete the received part. If that fails, the portal deletes it after the days in its setting
 * `file_upload_days`. */
async function discard(id: string): Promise<void> {
  await cancelUpload(id).catch(() => undefined);
}
