import { QueryClient } from '@tanstack/react-query';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { MapAnswer } from './types';

const HARDWARE: MapAnswer['hardware'] = [{ gpus: [['v100', 2]], cpus: 8, memory_gb: 32 }];
const record = (name: string, gpus: string): MapAnswer['nodes'][number] => [
  name,
  0,
  'partly',
  gpus,
  4,
  null,
];
const answer = (over: Partial<MapAnswer>): MapAnswer => ({
  at: '2026-11-22T12:00:00Z',
  stale_since: null,
  version: 'a-1',
  complete: true,
  hardware: HARDWARE,
  nodes: [],
  own: [],
  gone: [],
  ...over,
});

/** Answer one request after the other, and record the addresses. */
async function portal(...answers: unknown[]) {
  const asked: string[] = [];
  vi.stubGlobal(
    'Request',
    class extends Request {
      constructor(input: RequestInfo | URL, init?: RequestInit) {
        super(typeof input === 'string' ? `https://portal.example${input}` : input, init);
      }
    },
  );
  vi.stubGlobal('fetch', async ({ url }: Request) => {
    asked.push(url.replace('https://portal.example/api/v1/cluster', ''));
    return Response.json(answers.shift());
  });
  const queries = await import('./queries');
  return { asked, client: new QueryClient(), ...queries };
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

describe('the map', () => {
  it('is fetched whole once, then only what has changed', async () => {
    const { asked, client, mapQuery } = await portal(
      answer({ nodes: [record('n1', 'ff'), record('n2', 'ff')] }),
      answer({ version: 'a-2', complete: false, nodes: [record('n2', 'of')] }),
    );
    await client.fetchQuery(mapQuery({}));
    const { nodes, version } = await client.fetchQuery(mapQuery({}));
    expect(asked).toEqual(['/map', '/map?since=a-1']);
    expect(version).toBe('a-2');
    expect(nodes.map(({ name, gpuStates }) => [name, ...gpuStates])).toEqual([
      ['n1', 'free', 'free'],
      ['n2', 'others', 'free'],
    ]);
  });

  it('is fetched whole with a filter', async () => {
    const { asked, client, mapQuery } = await portal(answer({}), answer({ version: 'a-2' }));
    const search = { q: 'fan 2', state: 'down', free: 1, view: 'table' } as const;
    await client.fetchQuery(mapQuery(search));
    const { nodes } = await client.fetchQuery(mapQuery(search));
    expect(asked).toEqual(Array(2).fill('/map?q=fan%202&state=down&gpus_free=1'));
    expect(nodes).toEqual([]);
  });
});

describe('the table', () => {
  it('is fetched in pages, in its order', async () => {
    const { asked, client, nodesQuery } = await portal(
      { items: [{ name: 'n1' }], next_cursor: '-4~n1' },
      { items: [{ name: 'n2' }], next_cursor: null },
    );
    const search = { gpu: 'v100', sort: 'gpus', desc: true } as const;
    const { pages } = await client.fetchInfiniteQuery({ ...nodesQuery(search), pages: 3 });
    expect(pages.map(({ items }) => items.map(({ name }) => name))).toEqual([['n1'], ['n2']]);
    expect(asked).toEqual([
      '/nodes?gpu=v100&order=gpus&desc=true&limit=100',
      '/nodes?gpu=v100&order=gpus&desc=true&limit=100&cursor=-4~n1',
    ]);
  });
});
