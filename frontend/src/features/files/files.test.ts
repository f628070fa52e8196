import { describe, expect, it } from 'vitest';
import { forField, forFile, lineEnding } from './lines';
import { fileNameOf, folderOf, isWithin, join, nameProblem, stemLength, steps } from './paths';
import {
  goTo,
  readFilesSearch,
  searchForFile,
  searchForFolder,
  sortBy,
  withPreview,
} from './search';
import { extend, moveTo, NOTHING, selectAll, toggle } from './selection';
import { roomOf } from './sizes';
import type { Space } from './types';

describe('paths', () => {
  it('are joined and split', () => {
    expect(join('', 'a')).toBe('a');
    expect(join('a/b', 'c')).toBe('a/b/c');
    expect(fileNameOf('a/b/c')).toBe('c');
    expect(fileNameOf('c')).toBe('c');
    expect(folderOf('a/b/c')).toBe('a/b');
    expect(folderOf('c')).toBe('');
    expect(folderOf('')).toBe('');
    expect(steps('a/b')).toEqual([
      { name: 'a', path: 'a' },
      { name: 'b', path: 'a/b' },
    ]);
    expect(steps('')).toEqual([]);
  });

  it('detects paths inside a folder', () => {
    expect(isWithin('a/b', 'a')).toBe(true);
    expect(isWithin('a', 'a')).toBe(true);
    expect(isWithin('ab', 'a')).toBe(false);
    expect(isWithin('x', '')).toBe(true);
  });

  it('reports why a name is invalid', () => {
    expect(nameProblem('notes.txt')).toBeNull();
    expect(nameProblem('.hidden')).toBeNull();
    expect(nameProblem('  ')).toContain('name');
    expect(nameProblem('..')).toContain('not a valid name');
    expect(nameProblem('a/b')).toContain('/');
  });

  it('selects all but the extension', () => {
    expect(stemLength('model.tar.gz')).toBe(9);
    expect(stemLength('.bashrc')).toBe(7);
    expect(stemLength('Makefile')).toBe(8);
  });
});

describe('storage', () => {
  it('show the free space', () => {
    expect(roomOf({ quota: null, free_bytes: null, total_bytes: null })).toBeNull();
    expect(roomOf({ quota: null, free_bytes: 1024, total_bytes: 4096 })).toEqual({
      disk: { text: '3 KB of 4 KB are used on this disk.', percent: 75, level: 'fine' },
      quota: null,
      quotaText: null,
      level: 'fine',
    });
    expect(roomOf({ quota: null, free_bytes: 0, total_bytes: 4096 })?.level).toBe('full');
  });

  it('show the used share of a quota', () => {
    const spaceWith = (quota: Partial<NonNullable<Space['quota']>>) =>
      roomOf({
        quota: {
          used_bytes: 95,
          limit_bytes: null,
          used_files: null,
          limit_files: null,
          ...quota,
        },
        free_bytes: 900,
        total_bytes: 1000,
      });
    expect(spaceWith({})).toMatchObject({
      quota: null,
      quotaText: 'You use 95 bytes; you have no quota.',
      level: 'fine',
    });
    expect(spaceWith({ limit_bytes: 100 })).toMatchObject({
      quota: { percent: 95 },
      quotaText: 'You use 95 bytes of your 100 bytes.',
      level: 'tight',
    });
    expect(spaceWith({ limit_bytes: 1000, used_files: 1000, limit_files: 1000 })).toMatchObject({
      quotaText: 'You have 1,000 of your 1,000 files.',
      level: 'full',
    });
    expect(spaceWith({ limit_bytes: 0 })).toMatchObject({ quota: { percent: 100 }, level: 'full' });
  });
});

describe('the address', () => {
  it('drops invalid parameters', () => {
    expect(readFilesSearch({ root: 'home', path: 2024, sort: 'name', desc: 'yes', x: 1 })).toEqual({
      root: 'home',
      path: '2024',
    });
    expect(readFilesSearch({ sort: 'size', desc: true, hidden: true, trash: true })).toEqual({
      sort: 'size',
      desc: true,
      hidden: true,
      trash: true,
    });
  });

  it('keeps display options in another folder', () => {
    const now = { root: 'home', path: 'a', sort: 'size', desc: true, q: 'x', show: 'y' } as const;
    expect(goTo(now, 'scratch', '')).toEqual({ root: 'scratch', sort: 'size', desc: true });
    expect(withPreview(now, null)).not.toHaveProperty('show');
    expect(withPreview({}, 'a')).toEqual({ show: 'a' });
  });

  it('reverses the order by the same column', () => {
    expect(sortBy({}, 'name')).toEqual({ desc: true });
    expect(sortBy({ desc: true }, 'name')).toEqual({});
    expect(sortBy({ desc: true }, 'size')).toEqual({ sort: 'size' });
    expect(sortBy({ sort: 'size' }, 'size')).toEqual({ sort: 'size', desc: true });
  });
});

describe('a folder of the cluster', () => {
  const roots = [
    { name: 'home', path: '/home/alice' },
    { name: 'data', path: '/home/alice/data' },
  ];

  it('is found below the deepest root', () => {
    expect(searchForFolder(roots, '/home/alice/runs/a/')).toEqual({ root: 'home', path: 'runs/a' });
    expect(searchForFolder(roots, '/home/alice/data/x')).toEqual({ root: 'data', path: 'x' });
    expect(searchForFolder(roots, '/home/alice')).toEqual({ root: 'home' });
  });

  it('has a file in its preview', () => {
    const search = { root: 'home', path: 'runs', show: 'a.ipynb' };
    expect(searchForFile(roots, '/home/alice/runs/a.ipynb')).toEqual(search);
    expect(searchForFile(roots, '/home/alice/a.ipynb')).toEqual({ root: 'home', show: 'a.ipynb' });
    expect(searchForFile(roots, '/elsewhere/a.ipynb')).toBeNull();
  });

  it('is not shown where no root has it', () => {
    expect(searchForFolder(roots, '/home/alice2/x')).toBeNull();
    expect(searchForFolder([], '/home/alice')).toBeNull();
  });
});

describe('the selection', () => {
  const rows = ['a', 'b', 'c', 'd'].map((path) => ({ path }));

  it('selects single entries and ranges', () => {
    const selection = toggle(NOTHING, rows, 1);
    expect([...selection.paths]).toEqual(['b']);
    const range = extend(selection, rows, 3);
    expect([...range.paths]).toEqual(['b', 'c', 'd']);
    expect(range.anchor).toBe(1);
    expect([...toggle(range, rows, 2).paths]).toEqual(['b', 'd']);
    expect(selectAll(NOTHING, rows).paths.size).toBe(4);
  });

  it('stays inside the list', () => {
    expect(moveTo(NOTHING, rows, 9).active).toBe(3);
    expect(moveTo(NOTHING, rows, -2).active).toBe(0);
    expect(toggle(NOTHING, rows, 9)).toBe(NOTHING);
    expect([...extend(NOTHING, rows, 2).paths]).toEqual(['c']);
  });
});

describe('line endings', () => {
  it('are restored', () => {
    const windows = 'a\r\nb\r\n';
    expect(lineEnding(windows)).toBe('\r\n');
    expect(forFile(forField(windows), lineEnding(windows))).toBe(windows);
    expect(lineEnding('a\nb')).toBe('\n');
    expect(lineEnding('a\r\nb\nc')).toBe('mixed');
    expect(lineEnding('a\rb')).toBe('mixed');
    expect(forField('a\rb\r\nc')).toBe('a\nb\nc');
  });
});
