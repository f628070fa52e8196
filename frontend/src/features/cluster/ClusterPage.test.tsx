import { describe, expect, it } from 'vitest';
import { cluster } from '@/testing/answers/cluster';
import { isLoading, textOf } from '@/testing/markup';
import { ErrorAnswer, page } from '@/testing/page';
import type { ClusterNode, MapAnswer, NodePage } from './types';

const AT = '2026-11-22T13:45:00Z';
const TIMES = { at: AT, stale_since: null };

const node = (name: string, over: Partial<ClusterNode> = {}): ClusterNode => ({
  name,
  condition: 'partly',
  state: 'MIXED',
  takes_work: true,
  reason: null,
  since: null,
  partitions: ['gpu'],
  cpus: 32,
  cpus_free: 8,
  memory_gb: 128,
  memory_free_gb: 64,
  gpus: [],
  mine: [],
  jobs: 0,
  users: null,
  addresses: null,
  ...over,
});

const pageOf = (items: ClusterNode[], over: Partial<NodePage> = {}): NodePage => ({
  ...TIMES,
  items,
  next_cursor: null,
  matching: items.length,
  sees_users: false,
  sees_addresses: false,
  ...over,
});

const mapOf = (nodes: MapAnswer['nodes']): MapAnswer => ({
  ...TIMES,
  version: 'a-1',
  complete: true,
  hardware: [{ gpus: [['v100', 1]], cpus: 32, memory_gb: 128 }],
  nodes,
  own: [],
  gone: [],
});

const many = (count: number): MapAnswer['nodes'] =>
  Array.from({ length: count }, (_, index) => [`n${index}`, 0, 'free', 'f', 32, null]);

const answers = {
  '/cluster/gpus': { ...TIMES, items: [] },
  '/cluster/nodes': pageOf([]),
  '/cluster/map': mapOf(many(2)),
  '/cluster/queue': { ...TIMES, partitions: [] },
  '/cluster/reservations': { known: true, stale_since: null, items: [] },
};
const large = {
  cluster: { ...cluster, nodes: 5000, nodes_out: 120, states: { free: 4880, down: 120 } },
};

describe('the cluster page', () => {
  it('draws a few nodes as tiles, thousands in one picture', async () => {
    const few = await page('/cluster', { answers });
    expect(few.match(/<button[^>]*aria-label="n\d+: Free\./g)).toHaveLength(2);
    expect(few).not.toContain('<canvas');
    const map = { ...answers, '/cluster/map': mapOf(many(300)) };
    const dense = await page('/cluster', { answers: map, snapshot: large });
    expect(dense.match(/<canvas[^>]*aria-label="300 nodes\. 300 free"/g)).toHaveLength(1);
    expect(dense).not.toMatch(/aria-label="n\d+: /);
    expect(textOf(dense)).toContain('300 of 5,000 nodes');
    expect(textOf(dense)).toContain('Show the nodes as a table');
  });

  it('counts the nodes in each state, as far as there are any', async () => {
    const text = textOf(await page('/cluster', { answers, snapshot: large }));
    expect(text).toContain('4,880 of 5,000 nodes in service');
    expect(text).toContain('Free (4,880)');
    expect(text).toContain('Down (120)');
    expect(text).not.toContain('Draining (');
  });

  it('offers the state and number of GPUs of its address, even if no node has them', async () => {
    const text = await page('/cluster?state=unknown&free=3', { answers, snapshot: large });
    expect(textOf(text)).toContain('Unknown (0)');
    expect(textOf(text)).toContain('3 free GPUs or more');
  });

  it('shows a page of the table, and that there are more', async () => {
    const nodes = pageOf([node('n1'), node('n2', { condition: 'unknown', state: 'FUTURE' })], {
      next_cursor: 'n2',
      matching: 4880,
    });
    const table = { ...answers, '/cluster/nodes': nodes };
    const markup = await page('/cluster?view=table', { answers: table, snapshot: large });
    expect(markup).toContain('aria-rowcount="4881"');
    expect(textOf(markup)).toContain('2 of 4,880 are shown. Show more');
    expect(textOf(markup)).toContain('n2 Unknown');
    const whole = { ...answers, '/cluster/nodes': { ...nodes, next_cursor: null, matching: 2 } };
    const last = await page('/cluster?view=table', { answers: whole, snapshot: large });
    expect(textOf(last)).not.toContain('Show more');
  });

  it('says that no node matches', async () => {
    const none = { ...answers, '/cluster/map': mapOf([]) };
    const filtered = textOf(await page('/cluster?q=nothing', { answers: none, snapshot: large }));
    expect(filtered).toContain('No matching nodes. Show all nodes');
    expect(filtered).toContain('0 of 5,000 nodes');
    const empty = { cluster: { ...cluster, nodes: 0, states: {} } };
    const text = textOf(await page('/cluster', { answers: none, snapshot: empty }));
    expect(text).toContain('This cluster has no nodes.');
  });

  it('shows the details of a node that is on no page of the table', async () => {
    const one = { ...answers, '/cluster/nodes/n4711': node('n4711', { reason: 'fan', jobs: 3 }) };
    const markup = await page('/cluster?node=n4711', { answers: one });
    expect(markup).toContain('aria-label="Node n4711"');
    expect(textOf(markup)).toContain('Jobs here 3');
    const gone = new ErrorAnswer(404, 'The cluster has no node with this name.');
    const missing = await page('/cluster?node=n9', {
      answers: { ...answers, '/cluster/nodes/n9': gone },
    });
    expect(textOf(missing)).toContain('The cluster has no node with this name.');
  });

  it('waits for its nodes, and shows why there are none', async () => {
    expect(isLoading(await page('/cluster', { answers, early: true }))).toBe(true);
    const failing = { ...answers, '/cluster/map': new ErrorAnswer(503, 'Slurm is away.') };
    expect(textOf(await page('/cluster', { answers: failing }))).toContain('Slurm is away.');
    const early = { ...answers, '/cluster/gpus': { at: null, stale_since: AT, items: [] } };
    const text = textOf(await page('/cluster', { answers: early }));
    expect(text).toContain('The node list is not available yet.');
  });
});
