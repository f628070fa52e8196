import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '@/api/problem';
import { makeFolder } from './actions';
import { found, MOST_AT_ONCE, take } from './dropped';
import type { Entry } from './types';
import { uploads } from './uploader';

vi.mock('./actions', () => ({ makeFolder: vi.fn() }));
vi.mock('./uploader', () => ({ uploads: { add: vi.fn() } }));

/** A folder as a browser hands it over: its list comes in pieces. */
function folder(name: string, ...within: unknown[]): FileSystemEntry {
  const createReader = () => {
    const left = [...within];
    return { readEntries: (resolve: (some: unknown[]) => void) => resolve(left.splice(0, 2)) };
  };
  return { name, isDirectory: true, createReader } as unknown as FileSystemEntry;
}

function file(name: string): FileSystemEntry {
  const passFile = (callback: (one: File) => void): void => callback(new File([name], name));
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

  it('is found with all that is in it, each folder before what it holds', async () => {
    const runs = folder('runs', file('a'), file('b'), folder('deep', file('数据')), folder('bare'));
    const all = await found([new File(['x'], 'plain.txt'), runs, file('top')]);
    expect(all.folders).toEqual(['runs', 'runs/deep', 'runs/bare']);
    expect(all.files.map(({ path }) => path)).toEqual([
      ...['plain.txt', 'top', 'runs/a', 'runs/b', 'runs/deep/数据'],
    ]);
  });

  it('is refused as a whole where it is too much', async () => {
    const many = Array.from({ length: MOST_AT_ONCE + 1 }, (_, n) => file(String(n)));
    await expect(found([folder('many', ...many)])).rejects.toThrow('as a zip');
    await expect(found(many)).rejects.toThrow('as a zip');
  });

  it('goes into folders that are made, unless they are there', async () => {
    const there = new ApiError(409, 'file-exists', 'There is one.');
    vi.mocked(makeFolder).mockRejectedValueOnce(there);
    const all = await found([folder('runs', folder('deep', file('a')))]);
    await take({ root: 'home', path: 'in' }, all);
    expect(vi.mocked(makeFolder).mock.calls.map(([at]) => at.path)).toEqual([
      ...['in/runs', 'in/runs/deep'],
    ]);
    const [[root, at, [first] = []] = []] = vi.mocked(uploads.add).mock.calls;
    expect([root, at, first?.name]).toEqual(['home', 'in/runs/deep', 'a']);
  });

  it('stays where it is if a folder can’t be made', async () => {
    const full = new ApiError(507, 'full', 'No room.');
    vi.mocked(makeFolder).mockRejectedValueOnce(full);
    vi.mocked(uploads.add).mockClear();
    const all = await found([folder('runs', file('a'))]);
    await expect(take({ root: 'home', path: '' }, all)).rejects.toBe(full);
    expect(uploads.add).not.toHaveBeenCalled();
  });
});
