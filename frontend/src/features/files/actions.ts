/** Actions on files; those that change something update the cached lists. */
import { t } from '@lingui/core/macro';
import type { InfiniteData } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { ApiError } from '@/api/problem';
import { translate } from '@/i18n/translate';
import { queryClient } from '@/lib/queries';
import { folderOf } from './paths';
import {
  entryKey,
  FILES_KEY,
  folderKey,
  ROOTS_KEY,
  SPACE_KEY,
  trashKey,
  UPLOADS_KEY,
} from './queries';
import type { Entry, FileLocation, FolderPage, Problem, TextIn } from './types';

const FEW_PAGES = 2;
/** the API's limit of paths or ids per request */
const AT_ONCE = 200;

/** Refetch a folder. Of a list with several pages, refetch only the first. */
export function refresh(folder: FileLocation): void {
  for (const [key, data] of queryClient.getQueriesData<InfiniteData<FolderPage, string | null>>({
    queryKey: folderKey(folder),
  })) {
    if (data?.pages && data.pages.length > FEW_PAGES)
      queryClient.setQueryData(key, {
        pages: data.pages.slice(0, 1),
        pageParams: data.pageParams.slice(0, 1),
      });
  }
  void queryClient.invalidateQueries({ queryKey: folderKey(folder) });
  invalidateSpace();
  void queryClient.invalidateQueries({ queryKey: trashKey(folder.root) });
}

function invalidateSpace(): void {
  void queryClient.invalidateQueries({ queryKey: ROOTS_KEY });
  void queryClient.invalidateQueries({ queryKey: SPACE_KEY });
}

export async function makeFolder({ root, path }: FileLocation): Promise<Entry> {
  const created = await unwrap(
    api.POST('/api/v1/files/folders', { body: { root, path, parents: false } }),
  );
  refresh({ root, path: folderOf(path) });
  return created;
}

export async function move(
  from: FileLocation,
  to: FileLocation,
  overwrite = false,
): Promise<Entry> {
  const moved = await unwrap(
    api.POST('/api/v1/files/move', {
      body: { root: from.root, path: from.path, to_root: to.root, to_path: to.path, overwrite },
    }),
  );
  refresh({ root: from.root, path: folderOf(from.path) });
  refresh({ root: to.root, path: folderOf(to.path) });
  return moved;
}

export interface Deleted {
  ids: string[];
  done: string[];
  failed: { path: string; error: Problem }[];
}

/** Delete entries in batches; return those that could not be deleted, with the reasons. */
export async function remove(
  root: string,
  paths: readonly string[],
  permanent = false,
): Promise<Deleted> {
  const outcome: Deleted = { ids: [], done: [], failed: [] };
  try {
    for (let at = 0; at < paths.length; at += AT_ONCE) {
      const body = { root, paths: paths.slice(at, at + AT_ONCE), permanent };
      const { items } = await unwrap(api.POST('/api/v1/files/delete', { body }));
      for (const { path, trash_id, error } of items) {
        if (error) outcome.failed.push({ path, error });
        else outcome.done.push(path);
        if (trash_id !== null) outcome.ids.push(trash_id);
      }
    }
  } finally {
    for (const folder of new Set(paths.map(folderOf))) refresh({ root, path: folder });
  }
  return outcome;
}

/** Restore items from the trash; throw with the first reason if some could not be restored. */
export async function restore(root: string, ids: readonly string[]): Promise<void> {
  const problems: Problem[] = [];
  try {
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      const body = { root, ids: ids.slice(at, at + AT_ONCE) };
      const { items } = await unwrap(api.POST('/api/v1/files/trash/restore', { body }));
      problems.push(...items.flatMap(({ error }) => (error ? [error] : [])));
    }
  } finally {
    void queryClient.invalidateQueries({ queryKey: FILES_KEY });
  }
  const [first] = problems;
  if (!first) return;
  const reason = translate(first.detail);
  const others = problems.length - 1;
  const message = others > 0 ? t`${reason} (and ${others} more)` : reason;
  throw new ApiError(409, 'not-restored', message);
}

/** Empty the trash, or delete some items of it permanently. A large one takes several requests. */
export async function emptyTrash(root: string, ids: readonly string[] | null): Promise<void> {
  try {
    for (;;) {
      const body = { root, ids: ids === null ? null : [...ids] };
      if ((await unwrap(api.POST('/api/v1/files/trash/empty', { body }))).done) return;
    }
  } finally {
    void queryClient.invalidateQueries({ queryKey: trashKey(root) });
    invalidateSpace();
  }
}

export const readText = ({ root, path }: FileLocation) =>
  unwrap(api.GET('/api/v1/files/text', { params: { query: { root, path } } }));

export async function saveText(body: TextIn): Promise<Entry> {
  const saved = await unwrap(api.PUT('/api/v1/files/text', { body }));
  refresh({ root: body.root, path: folderOf(body.path) });
  void queryClient.invalidateQueries({ queryKey: entryKey(body) });
  return saved;
}

/** Cancel an upload and delete the part received so far. */
export async function cancelUpload(id: string): Promise<void> {
  await unwrap(
    api.DELETE('/api/v1/files/uploads/{upload_id}', { params: { path: { upload_id: id } } }),
  );
  invalidateSpace();
  void queryClient.invalidateQueries({ queryKey: UPLOADS_KEY });
}
