/** Files and folders dropped on the page, with everything in them. */
import { t } from '@lingui/core/macro';
import { ApiError } from '@/api/problem';
import { makeFolder } from './actions';
import { folderOf, join } from './paths';
import type { At } from './types';
import { uploads } from './uploader';

/** More than this is better packed into one file: each one is asked for by itself. */
export const MOST_AT_ONCE = 1000;

export interface Found {
  /** each after the one it is in */
  folders: string[];
  files: { path: string; file: File }[];
}

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

/** A browser reports a folder's entries in batches; an empty batch is the last. */
async function inside(entry: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = entry.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return all;
    all.push(...some);
    if (all.length > MOST_AT_ONCE) throw tooMany();
  }
}

const tooMany = (): ApiError =>
  new ApiError(
    0,
    'too-many',
    t`These are more than ${{ most: MOST_AT_ONCE }} files and folders: upload them as a zip file.`,
  );

/** All that was dropped, by its path below the folder it fell into; what is no entry is a file. */
export async function found(dropped: readonly (FileSystemEntry | File)[]): Promise<Found> {
  const all: Found = { folders: [], files: [] };
  const left: { path: string; entry: FileSystemEntry }[] = [];
  for (const one of dropped) {
    if (one instanceof File) all.files.push({ path: one.name, file: one });
    else left.push({ path: one.name, entry: one });
  }
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const { path, entry } = next;
    if (entry.isDirectory) {
      all.folders.push(path);
      const within = await inside(entry as FileSystemDirectoryEntry);
      left.push(...within.map((one) => ({ path: join(path, one.name), entry: one })));
    } else all.files.push({ path, file: await fileOf(entry as FileSystemFileEntry) });
    if (all.folders.length + all.files.length + left.length > MOST_AT_ONCE) throw tooMany();
  }
  return all;
}

/** Makes the folders that aren't there yet, and uploads the files into them. */
export async function take(into: At, { folders, files }: Found): Promise<void> {
  for (const path of folders)
    await makeFolder({ root: into.root, path: join(into.path, path) }).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.slug !== 'file-exists') throw error;
    });
  for (const { path, file } of files)
    uploads.add(into.root, folderOf(join(into.path, path)), [file]);
}
