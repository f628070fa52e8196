/** Files and folders dropped on the page, with everything in them. */
import { t } from '@lingui/core/macro';
import { ApiError } from '@/api/problem';
import { makeFolder } from './actions';
import { folderOf, join } from './paths';
import type { FileLocation } from './types';
import { uploads } from './uploader';

/** Above this, users should pack the files into one archive: each file takes its own requests. */
export const MAX_AT_ONCE = 1000;

export interface DroppedItems {
  /** each after its parent */
  folders: string[];
  files: { path: string; file: File }[];
}

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

/** Return a folder's entries, which a browser reports in batches; an empty batch is the last. */
async function readEntries(entry: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = entry.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (batch.length === 0) return all;
    all.push(...batch);
    if (all.length > MAX_AT_ONCE) throw tooMany();
  }
}

const tooMany = (): ApiError =>
  new ApiError(
    0,
    'too-many',
    t`These are more than ${{ most: MAX_AT_ONCE }} files and folders: upload them as a zip file.`,
  );

/** Collect the dropped folders and files, by path relative to the drop's folder. Items without an
 * entry are files. */
export async function collectDropped(
  dropped: readonly (FileSystemEntry | File)[],
): Promise<DroppedItems> {
  const all: DroppedItems = { folders: [], files: [] };
  const queue: { path: string; entry: FileSystemEntry }[] = [];
  for (const item of dropped) {
    if (item instanceof File) all.files.push({ path: item.name, file: item });
    else queue.push({ path: item.name, entry: item });
  }
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { path, entry } = next;
    if (entry.isDirectory) {
      all.folders.push(path);
      const within = await readEntries(entry as FileSystemDirectoryEntry);
      queue.push(...within.map((child) => ({ path: join(path, child.name), entry: child })));
    } else all.files.push({ path, file: await fileOf(entry as FileSystemFileEntry) });
    if (all.folders.length + all.files.length + queue.length > MAX_AT_ONCE) throw tooMany();
  }
  return all;
}

/** Create the missing folders, and upload the files into them. */
export async function uploadDropped(
  into: FileLocation,
  { folders, files }: DroppedItems,
): Promise<void> {
  for (const path of folders)
    await makeFolder({ root: into.root, path: join(into.path, path) }).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.slug !== 'file-exists') throw error;
    });
  for (const { path, file } of files)
    uploads.add(into.root, folderOf(join(into.path, path)), [file]);
}
