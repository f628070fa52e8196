import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '@/api/problem';
import { makeFolder } from './actions';
import { collectDropped, MAX_AT_ONCE, uploadDropped } from './dropped';
import type { Entry } from './types';
import { uploads } from './uploader';

vi.mock('./actions', () => ({ makeFolder: vi.fn() }));
vi.mock('./uploader', () => ({ uploads: { add: vi.fn() } }));

/** A dropped folder like a browser's: its entries are read in batches. */
function folder(name: string, ...within: unknown[]): FileSystemEntry {
  const createReader = () => {
    const remaining = [...within];
    return {
      readEntries: (resolve: (batch: unknown[]) => void) => resolve(remaining.splice(0, 2)),
    };
  };
  return { name, isDirectory: true, createReader } as unknown as FileSystemEntry;
}

function file(name: string): FileSystemEntry {
  const passFile = (callback: (file: File) => void): void => callback(new File([name], name));
  return { name, isDirectory: false, file: passFile } as unknown as FileSystemEntry;
}

describe('dropped files', () => {
  beforeEach(
    () =>
      void vi
        .mocked(makeFolder)
        .mockReset()
        .mockResolvedValue({} as Entry),
  );

  it('are collected with their folders, parents first', async () => {
    const runs = folder('runs', file('a'), file('b'), folder('deep', file('数据')), folder('bare'));
    const all = await collectDropped([new File(['x'], 'plain.txt'), runs, file('top')]);
    expect(all.folders).toEqual(['runs', 'runs/deep', 'runs/bare']);
    expect(all.files.map(({ path }) => path)).toEqual([
      ...['plain.txt', 'top', 'runs/a', 'runs/b', 'runs/deep/数据'],
    ]);
  });

  it('are refused if there are too many', async () => {
    const many = Array.from({ length: MAX_AT_ONCE + 1 }, (_, n) => file(String(n)));
    await expect(collectDropped([folder('many', ...many)])).rejects.toThrow('as a zip');
    await expect(collectDropped(many)).rejects.toThrow('as a zip');
  });

  it('are uploaded into folders, created if missing', async () => {
    const there = new ApiError(409, 'file-exists', 'There is one.');
    vi.mocked(makeFolder).mockRejectedValueOnce(there);
    const all = await collectDropped([folder('runs', folder('deep', file('a')))]);
    await uploadDropped({ root: 'home', path: 'in' }, all);
    expect(vi.mocked(makeFolder).mock.calls.map(([at]) => at.path)).toEqual([
      ...['in/runs', 'in/runs/deep'],
    ]);
    const [[root, at, [first] = []] = []] = vi.mocked(uploads.add).mock.calls;
    expect([root, at, first?.name]).toEqual(['home', 'in/runs/deep', 'a']);
  });

  it('are not uploaded if a folder cannot be created', async () => {
    const full = new ApiError(507, 'full', 'No room.');
    vi.mocked(makeFolder).mockRejectedValueOnce(full);
    vi.mocked(uploads.add).mockClear();
    const all = await collectDropped([folder('runs', file('a'))]);
    await expect(uploadDropped({ root: 'home', path: '' }, all)).rejects.toBe(full);
    expect(uploads.add).not.toHaveBeenCalled();
  });
});
