/** Files on the user's computer that start a form: scripts and notebooks. Pure, except that files are
 * read. */
import { t } from '@lingui/core/macro';
import { ApiError } from '@/api/problem';
import { sizeText } from '@/lib/sizes';

export type FileKind = 'python' | 'shell' | 'notebook';

/** The portal's limit for a custom script. */
export const MAX_SCRIPT_BYTES = 256 * 1024;

const KINDS: readonly [RegExp, FileKind][] = [
  [/\.py$/i, 'python'],
  [/\.(sh|bash|sbatch|slurm)$/i, 'shell'],
  [/\.ipynb$/i, 'notebook'],
];
const MAX_NAME = 64;

const kindOfName = (name: string): FileKind | undefined =>
  KINDS.find(([pattern]) => pattern.test(name))?.[1];

/** Return a name for the job: the file's without its ending. */
export const jobName = (file: string): string =>
  file.replace(/\.[^.]+$/, '').slice(0, MAX_NAME) || file.slice(0, MAX_NAME);

/** Return the path for a shell, as one word: only simple names go without quotes. */
const quotePath = (path: string): string =>
  /^[\w./-]+$/.test(path) ? `~/${path}` : `~/'${path.replaceAll("'", `'"'"'`)}'`;

/** Return a script that runs a Python file in the home directory. */
export const pythonScript = (path: string): string => `#!/bin/bash\npython3 ${quotePath(path)}\n`;

/** A script to edit as text, or a file to upload. */
export type StartFile =
  | { kind: 'text'; text: string }
  | { kind: Exclude<FileKind, 'shell'>; text?: undefined };

const fail = (message: string): never => {
  throw new ApiError(0, 'no-script', message);
};

/**
 * Read a chosen file that can start a form. Throws ApiError with the reason if it can't.
 * A Python file with #SBATCH lines is a batch script, as sbatch accepts it.
 */
export async function readStartFile(file: File): Promise<StartFile> {
  const { name, size } = file;
  const kind = kindOfName(name);
  if (kind === undefined)
    return fail(t`“${name}” can't start a job. Choose a .py, .sh or .ipynb file.`);
  if (size === 0) return fail(t`“${name}” is empty.`);
  if (kind === 'notebook') return { kind };
  const isLong = size > MAX_SCRIPT_BYTES;
  if (kind === 'shell' && isLong)
    return fail(
      t`“${name}” has ${{ size: sizeText(size) }}; a script has at most ${{ limit: sizeText(MAX_SCRIPT_BYTES) }}.`,
    );
  const text = await readText(file);
  if (kind === 'shell' || (!isLong && isBatchScript(text))) return { kind: 'text', text };
  return { kind };
}

const isBatchScript = (text: string): boolean => text.startsWith('#!') && /^#SBATCH/m.test(text);

/** Return the beginning of a file. Throws ApiError if it is not text. */
async function readText(file: File): Promise<string> {
  const bytes = await file
    .slice(0, MAX_SCRIPT_BYTES)
    .arrayBuffer()
    .catch(() => null);
  if (bytes === null) return fail(t`The file could not be read on your computer.`);
  try {
    // A long file may end within a character.
    const stream = file.size > MAX_SCRIPT_BYTES;
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream });
    if (!text.includes('\0')) return text;
  } catch {
    // not UTF-8
  }
  return fail(t`“${{ name: file.name }}” is not a text file in UTF-8.`);
}
