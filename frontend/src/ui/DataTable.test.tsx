import { MantineProvider } from '@mantine/core';
import { renderToString } from 'react-dom/server';
import { describe, expect, it, vi } from 'vitest';
import { type Column, DataTable } from './DataTable';

interface Disk {
  name: string;
  used: number;
  owner: string;
}

const DISKS: Disk[] = [
  { name: 'home', used: 12, owner: 'alice' },
  { name: 'scratch', used: 7, owner: '' },
];

const COLUMNS: Column<Disk>[] = [
  { id: 'name', header: 'Disk', cell: ({ name }) => name, rowHeader: true },
  { id: 'used', header: 'Used', cell: ({ used }) => used, number: true, narrowBeside: true },
  {
    id: 'owner',
    header: 'Owner',
    cell: ({ owner }) => owner || '–',
    narrowLabeled: true,
    isEmpty: ({ owner }) => owner === '',
  },
];

type Props = Partial<Parameters<typeof DataTable<Disk>>[0]>;

const html = (props: Props = {}): string =>
  renderToString(
    <MantineProvider>
      <DataTable
        label="Disks"
        columns={COLUMNS}
        rows={DISKS}
        rowKey={({ name }) => name}
        {...props}
      />
    </MantineProvider>,
  ).replaceAll('<!-- -->', '');

const count = (markup: string, part: RegExp): number =>
  markup.match(new RegExp(part, 'g'))?.length ?? 0;

describe('a table', () => {
  it('has a name, and headers of its columns and rows', () => {
    const markup = html();
    expect(markup).toMatch(/<table[^>]*aria-label="Disks"/);
    expect(count(markup, /<th[^>]*scope="col"/)).toBe(3);
    expect(markup).toMatch(/<th[^>]*scope="row"[^>]*>home<\/th>/);
    expect(count(markup, /<td\b/)).toBe(4);
  });

  it('repeats the header before a value and leaves out empty cells where rows are blocks', () => {
    const markup = html();
    expect(count(markup, /data-label="Owner"/)).toBe(2);
    expect(count(markup, /data-empty="true"/)).toBe(1);
    expect(count(markup, /data-place="beside"/)).toBe(2);
  });

  it('has the buttons of each row under a header that is only read out', () => {
    const markup = html({ actions: ({ name }) => <button type="button">Unmount {name}</button> });
    expect(markup).toMatch(/<th[^>]*scope="col"[^>]*><span[^>]*>Actions<\/span><\/th>/);
    expect(markup).toContain('Unmount scratch');
  });

  it('sorts by a button in the header', () => {
    const sort = { direction: 'descending', onSort: vi.fn() } as const;
    const others = { direction: undefined, onSort: vi.fn() };
    const columns = COLUMNS.map((column) => ({
      ...column,
      ...(column.id === 'used' ? { sort } : {}),
      ...(column.id === 'name' ? { sort: others } : {}),
    }));
    const markup = html({ columns });
    expect(markup).toMatch(/<th[^>]*aria-sort="none"[^>]*><button[^>]*>Disk/);
    expect(markup).toMatch(/<th[^>]*aria-sort="descending"[^>]*><button[^>]*>Used/);
    expect(count(markup, /aria-sort/)).toBe(2);
  });

  it('shows without rows what to do instead', () => {
    const markup = html({ rows: [], empty: 'Nothing is mounted.' });
    expect(markup).toContain('Nothing is mounted.');
    expect(markup).not.toContain('<table');
  });

  it('scrolls by keyboard where it is wider than the page', () => {
    const markup = html({ narrow: 'scroll', height: '70vh' });
    expect(markup).toMatch(/<section[^>]*tabindex="0"[^>]*aria-label="Disks"/);
  });

  it('is marked while newer rows are fetched', () => {
    expect(html({ busy: true })).toContain('aria-busy="true"');
    expect(html({ plain: true, busy: true })).toContain('aria-busy="true"');
  });
});
