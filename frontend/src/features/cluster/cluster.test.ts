import { describe, expect, it } from 'vitest';
import {
  conditionLabel,
  gpusShort,
  hardwareText,
  memoryCell,
  nodeSentence,
  pendingPositions,
  reservationNodes,
  reservationSuggestion,
  reservationTitle,
  waitingText,
} from './labels';
import {
  countGpus,
  DAY,
  filterNodes,
  groupNodes,
  reservationsOf,
  sortNodes,
  spanOf,
  squaresOf,
  stripesOf,
  ticks,
  timelineLength,
} from './nodeMap';
import { isFiltered, NO_GPU, readClusterSearch, sortBy, unfiltered, withChange } from './search';
import type { MyWaiting, NodeGpus, PartitionQueue, Reservation, VisibleNode } from './types';

const gpus = (over: Partial<NodeGpus> = {}): NodeGpus => ({
  type: 'v100',
  total: 4,
  free: 1,
  mine: 1,
  others: 2,
  unclear: 0,
  out: 0,
  ...over,
});

const node = (name: string, over: Partial<VisibleNode> = {}): VisibleNode => ({
  name,
  condition: 'partly',
  state: 'MIXED',
  takes_work: true,
  reason: null,
  since: null,
  partitions: ['gpu', 'debug'],
  cpus: 32,
  cpus_free: 8,
  memory_gb: 128,
  memory_free_gb: 64,
  gpus: [gpus()],
  mine: [],
  jobs: 1,
  users: null,
  addresses: null,
  ...over,
});

const drained = node('node2', {
  condition: 'drained',
  state: 'IDLE+DRAIN',
  takes_work: false,
  reason: 'fan 2 <b>broken</b>',
  memory_free_gb: 0,
  jobs: 0,
  gpus: [gpus({ free: 0, mine: 0, others: 0, out: 4 })],
});
const plain = node('node10', { gpus: [], partitions: ['cpu'], cpus_free: 30, memory_free_gb: 100 });
const mine = node('node1', { mine: [{ id: 'a', job_id: 7, name: 'train' }] });
const ALL = [plain, drained, mine];
const names = (nodes: readonly VisibleNode[]): string[] => nodes.map(({ name }) => name);

describe('the picture', () => {
  it('has a square for each GPU, equal states together', () => {
    expect(squaresOf(gpus())).toEqual(['mine', 'others', 'others', 'free']);
    expect(countGpus(ALL)).toEqual({ mine: 1, others: 2, unclear: 0, free: 1, out: 4, total: 8 });
    expect(countGpus(ALL, 'a100').total).toBe(0);
  });

  it('groups nodes by hardware, GPUs first', () => {
    const result = groupNodes(ALL);
    expect(result.map((group) => names(group.nodes))).toEqual([['node2', 'node1'], ['node10']]);
    expect(hardwareText(result[0]?.like ?? plain)).toBe('4 v100 GPUs, 32 CPUs, 128 GB');
    expect(hardwareText(plain)).toBe('no GPU, 32 CPUs, 128 GB');
  });

  it('draws a small node in stripes', () => {
    expect(stripesOf(plain)).toBe(
      'linear-gradient(90deg, var(--stripe-others) 0% 6.3%, var(--stripe-free) 6.3% 100%)',
    );
    const stripes = stripesOf(mine).match(/--stripe-\w+/g);
    expect(stripes).toEqual([
      '--stripe-mine',
      '--stripe-others',
      '--stripe-others',
      '--stripe-free',
    ]);
  });
});

describe('which nodes are shown', () => {
  it.each([
    [{ q: 'FAN broken' }, ['node2']],
    [{ q: 'v100 debug' }, ['node2', 'node1']],
    [{ partition: 'cpu' }, ['node10']],
    [{ gpu: 'v100' }, ['node2', 'node1']],
    [{ gpu: NO_GPU }, ['node10']],
    [{ show: 'free' as const }, ['node10', 'node1']],
    [{ show: 'mine' as const }, ['node1']],
    [{ show: 'busy' as const }, ['node10', 'node1']],
    [{ show: 'out' as const }, ['node2']],
    [{ q: 'nothing' }, []],
  ])('%o', (search, expected) => {
    expect(names(filterNodes(ALL, search))).toEqual(expected);
  });

  it('finds addresses and users where they are known', () => {
    const seen = node('n', {
      users: [{ username: 'bob', jobs: 1, gpus: 1 }],
      addresses: { in_band: '10.0.0.1', infiniband: null, management: 'n-bmc' },
    });
    for (const q of ['bob', '10.0.0.1', 'bmc']) expect(filterNodes([seen], { q })).toHaveLength(1);
  });

  it('sorts in natural order, numbers with the largest first', () => {
    expect(names(sortNodes(ALL, {}))).toEqual(['node1', 'node2', 'node10']);
    expect(names(sortNodes(ALL, { desc: true }))).toEqual(['node10', 'node2', 'node1']);
    expect(names(sortNodes(ALL, { sort: 'memory' }))).toEqual(['node10', 'node1', 'node2']);
    expect(names(sortNodes(ALL, { sort: 'gpus' }))).toEqual(['node1', 'node2', 'node10']);
  });

  it('is kept in the address without invalid parameters', () => {
    const odd = { view: 'wall', q: 7, show: 'all', sort: 'colour', desc: 'yes', node: '', x: 1 };
    expect(readClusterSearch(odd)).toEqual({ q: '7' });
    const search = { view: 'table', gpu: 'v100', sort: 'cpus', desc: true } as const;
    expect(readClusterSearch({ ...search })).toEqual(search);
    expect(withChange(search, { gpu: '' })).toEqual({ view: 'table', sort: 'cpus', desc: true });
    expect(isFiltered({ node: 'node1', view: 'table' })).toBe(false);
    expect(unfiltered({ q: 'a', show: 'out', view: 'table' })).toEqual({ view: 'table' });
  });

  it('reverses the order at the second click', () => {
    const once = sortBy({}, 'cpus');
    expect(once).toEqual({ sort: 'cpus' });
    expect(sortBy(once, 'cpus')).toEqual({ sort: 'cpus', desc: true });
    expect(sortBy(sortBy(once, 'cpus'), 'cpus')).toEqual({ sort: 'cpus' });
    expect(sortBy(once, 'name')).toEqual({});
  });
});

describe('a node in words', () => {
  it('describes everything on the map', () => {
    expect(nodeSentence(mine)).toBe(
      'node1: Partly in use. v100: 1 free, 1 yours, 2 in use by others.',
    );
    expect(nodeSentence(drained)).toBe(
      'node2: Out of service. fan 2 <b>broken</b>. v100: 4 out of service.',
    );
    expect(nodeSentence(plain)).toBe('node10: Partly in use. 30 of 32 CPUs free.');
    expect(gpusShort(gpus())).toBe('1 of 4 v100 free, 1 yours');
    expect(memoryCell(drained)).toBe('0 of 128 GB');
  });

  it('has a label for each condition', () => {
    expect(conditionLabel(drained)).toMatchObject({ label: 'Out of service', tone: 'bad' });
  });
});

const waits = (over: Partial<MyWaiting> = {}): MyWaiting => ({
  id: 'j',
  job_id: 7,
  name: 'train',
  place: 3,
  tasks: 1,
  reason: null,
  suggestion: null,
  ...over,
});

const queue = (over: Partial<PartitionQueue> = {}): PartitionQueue => ({
  name: 'gpu',
  default: false,
  state: 'UP',
  max_time_minutes: 60,
  nodes: 2,
  running: 5,
  in_line: 12,
  aside: 0,
  mine_running: 0,
  mine_waiting: 1,
  mine: [waits()],
  ...over,
});

describe('the queue', () => {
  it('lists a job once, with its place in each partition', () => {
    const debug = queue({ name: 'debug', mine: [waits({ place: 1 })] });
    const held = queue({ name: 'cpu', mine: [waits({ job_id: 8, place: null })] });
    expect(pendingPositions([queue(), debug, held]).map((job) => job.places)).toEqual([
      ['About position 3 of 12 in gpu', 'Next in debug'],
      ['Not eligible yet in cpu'],
    ]);
  });

  it('counts jobs that are not eligible separately', () => {
    expect(waitingText(queue())).toBe('12');
    expect(waitingText(queue({ aside: 2 }))).toBe('12 and 2 not eligible');
  });
});

const NOW = Date.parse('2026-11-22T12:00:00Z');
const plan = (startH: number, hours: number, over: Partial<Reservation> = {}): Reservation => ({
  start: new Date(NOW + startH * 3_600_000).toISOString(),
  end: new Date(NOW + (startH + hours) * 3_600_000).toISOString(),
  maintenance: false,
  mine: false,
  name: null,
  kept_for: null,
  nodes: ['node1'],
  all_nodes: false,
  ...over,
});

describe('reservations', () => {
  it('shows its name only if permitted', () => {
    expect(reservationTitle(plan(1, 1))).toBe('Reserved for others');
    expect(reservationTitle(plan(1, 1, { name: 'course', mine: true }))).toBe(
      'Reserved for you: course',
    );
    expect(reservationTitle(plan(1, 1, { name: 'works', maintenance: true }))).toBe(
      'Maintenance works',
    );
    expect(reservationSuggestion(plan(1, 1, { name: 'course', mine: true }), false)).toContain(
      '--reservation=course',
    );
    expect(reservationSuggestion(plan(-1, 2), true)).toContain('until it ends');
  });

  it('names a few nodes', () => {
    const many = Array.from({ length: 9 }, (_, at) => `n${at}`);
    expect(reservationNodes(plan(1, 1, { nodes: many }))).toBe('n0, n1, n2, n3 and 5 more');
    expect(reservationNodes(plan(1, 1, { nodes: many, all_nodes: true }))).toBe('all nodes');
    expect(reservationsOf(mine, [plan(1, 1), plan(2, 1, { nodes: ['other'] })])).toHaveLength(1);
  });

  it('has a position in the timeline', () => {
    const far = timelineLength([plan(1, 1), plan(90, 10)], NOW);
    expect(far).toBeCloseTo(105 * 3_600_000);
    expect(timelineLength([], NOW)).toBe(DAY / 2);
    expect(timelineLength([plan(0, 10_000)], NOW)).toBe(30 * DAY);
    expect(spanOf(plan(-2, 4), NOW, 4 * 3_600_000)).toEqual({ from: 0, long: 0.5 });
    expect(spanOf(plan(2, 20), NOW, 4 * 3_600_000)).toEqual({ from: 0.5, long: 0.5 });
    expect(spanOf(plan(5, 1), NOW, 4 * 3_600_000)).toBeNull();
  });

  it('has a few labels, all in the future', () => {
    for (const far of [DAY / 2, DAY, 5 * DAY, 30 * DAY]) {
      const times = ticks(NOW, far);
      expect(times.length).toBeGreaterThan(0);
      expect(times.length).toBeLessThan(6);
      expect(times.every((at) => at > NOW && at < NOW + far)).toBe(true);
    }
  });
});
