import { describe, expect, it } from 'vitest';
import {
  conditionLabel,
  describeNode,
  gpusShort,
  memoryCell,
  nodeHardwareText,
  pendingPositions,
  reservationNodes,
  reservationSuggestion,
  reservationTitle,
  waitingText,
} from './labels';
import {
  applyAnswer,
  boxAt,
  boxSize,
  columnsIn,
  countGpus,
  gpusOf,
  groupNodes,
  type MapNode,
  partsOf,
} from './nodeMap';
import {
  filterOf,
  isFiltered,
  readClusterSearch,
  sortBy,
  toQuery,
  unfiltered,
  withChange,
} from './search';
import { DAY, reservationsOf, spanOf, ticks, timelineLength } from './timeline';
import type { MapAnswer, MapRecord, MyWaiting, PartitionQueue, Reservation } from './types';

const HARDWARE: MapAnswer['hardware'] = [
  { gpus: [], cpus: 32, memory_gb: 128 },
  { gpus: [['v100', 4]], cpus: 32, memory_gb: 128 },
];
const FIRST: MapRecord = ['node1', 1, 'partly', 'ooof', 8, null];
const DRAINED: MapRecord = ['node2', 1, 'drained', 'xxxx', null, 'fan 2 <b>broken</b>'];
const PLAIN: MapRecord = ['node10', 0, 'partly', '', 30, null];

const answer = (over: Partial<MapAnswer> = {}): MapAnswer => ({
  at: '2026-11-22T12:00:00Z',
  stale_since: null,
  version: 'a-1',
  complete: true,
  hardware: HARDWARE,
  nodes: [PLAIN, DRAINED, FIRST],
  own: [['node1', 1, 'partly', 'moof', 8, null]],
  gone: [],
  ...over,
});
const names = (nodes: readonly MapNode[]): string[] => nodes.map(({ name }) => name);
const map = applyAnswer(undefined, answer());
const [mine, drained, plain] = map.nodes as [MapNode, MapNode, MapNode];

describe('the map', () => {
  it('has all nodes in natural order, and what is mine on them', () => {
    expect(names(map.nodes)).toEqual(['node1', 'node2', 'node10']);
    expect(map.nodes.map((node) => node.mine)).toEqual([true, false, false]);
    expect(gpusOf(mine)).toEqual([
      { type: 'v100', total: 4, free: 1, mine: 1, others: 2, unclear: 0, out: 0 },
    ]);
    expect(countGpus(map.nodes)).toEqual({
      mine: 1,
      others: 2,
      unclear: 0,
      free: 1,
      out: 4,
      total: 8,
    });
  });

  it('takes over what has changed since its version', () => {
    const changed: MapRecord = ['node2', 1, 'free', 'ffff', 32, null];
    const added: MapRecord = ['node3', 0, 'free', '', 32, null];
    const partial = { version: 'a-2', complete: false, nodes: [changed, added], gone: ['node10'] };
    const next = applyAnswer(map, answer({ ...partial, own: [] }));
    expect(next.version).toBe('a-2');
    expect(names(next.nodes)).toEqual(['node1', 'node2', 'node3']);
    expect(next.nodes[0]).toMatchObject({
      mine: false,
      gpuStates: ['others', 'others', 'others', 'free'],
    });
    expect(next.nodes[1]).toMatchObject({ condition: 'free', cpusFree: 32, reason: null });
  });

  it('forgets all others with a complete answer', () => {
    expect(names(applyAnswer(map, answer({ nodes: [PLAIN], own: [] })).nodes)).toEqual(['node10']);
    expect(applyAnswer(map, answer({ nodes: [], own: [] })).nodes).toEqual([]);
  });

  it('groups nodes by hardware, GPUs first', () => {
    const groups = groupNodes(map.nodes);
    expect(groups.map((group) => names(group.nodes))).toEqual([['node1', 'node2'], ['node10']]);
    expect(groups.map(({ hardware }) => nodeHardwareText(hardware))).toEqual([
      '4 v100 GPUs, 32 CPUs, 128 GB',
      'no GPU, 32 CPUs, 128 GB',
    ]);
  });

  it('draws a node in stripes', () => {
    expect(partsOf(mine).map(({ state }) => state)).toEqual(['mine', 'others', 'others', 'free']);
    expect(partsOf(plain)).toEqual([
      { state: 'others', share: 2 },
      { state: 'free', share: 30 },
    ]);
    expect(partsOf({ ...plain, cpusFree: null })).toEqual([{ state: 'out', share: 32 }]);
  });

  it('finds the box at a point', () => {
    const size = { side: 15, gap: 3 };
    const columns = columnsIn(51, size);
    expect(columns).toBe(3);
    expect(columnsIn(1, size)).toBe(1);
    expect(boxAt(0, 0, columns, 5, size)).toBe(0);
    expect(boxAt(40, 20, columns, 6, size)).toBe(5);
    expect(boxAt(40, 20, columns, 5, size), 'beyond the last').toBeUndefined();
    expect(boxAt(16, 5, columns, 5, size), 'in a gap').toBeUndefined();
    expect(boxAt(55, 5, columns, 5, size), 'right of all').toBeUndefined();
    expect(boxAt(-1, 5, columns, 5, size)).toBeUndefined();
    expect(boxSize(5000).side).toBeLessThan(boxSize(500).side);
  });
});

describe('which nodes are shown', () => {
  it('is kept in the address without invalid parameters', () => {
    const odd = { view: 'wall', q: 7, show: 'all', sort: 'colour', desc: 'yes', node: '', x: 1 };
    expect(readClusterSearch(odd)).toEqual({ q: '7' });
    const search = { view: 'table', gpu: 'v100', sort: 'cpus', desc: true } as const;
    expect(readClusterSearch({ ...search })).toEqual(search);
    expect(withChange(search, { gpu: '' })).toEqual({ view: 'table', sort: 'cpus', desc: true });
    expect(isFiltered({ node: 'node1', view: 'table' })).toBe(false);
    const filtered = { q: 'a', show: 'out', state: 'down', free: 2, view: 'table' } as const;
    expect(isFiltered(filtered)).toBe(true);
    expect(unfiltered(filtered)).toEqual({ view: 'table' });
  });

  it('ignores a state and a number of GPUs that do not exist', () => {
    expect(readClusterSearch({ state: 'exploded', free: 'many' })).toEqual({});
    expect(readClusterSearch({ state: 'unknown', free: '2' })).toEqual({
      state: 'unknown',
      free: 2,
    });
    for (const free of [0, -1, 1.5, 5000]) expect(readClusterSearch({ free })).toEqual({});
  });

  it('is decided by the portal', () => {
    const search = { q: 'fan', gpu: 'v100', free: 2, view: 'table', sort: 'cpus' } as const;
    expect(toQuery(filterOf(search))).toEqual({ q: 'fan', gpu: 'v100', gpus_free: 2 });
    expect(toQuery(filterOf({ node: 'node1' }))).toEqual({});
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
    expect(describeNode(mine)).toBe(
      'node1: Partly in use. v100: 1 free, 1 yours, 2 in use by others.',
    );
    expect(describeNode(drained)).toBe(
      'node2: Out of service. fan 2 <b>broken</b>. v100: 4 out of service.',
    );
    expect(describeNode(plain)).toBe('node10: Partly in use. 30 of 32 CPUs free.');
    const counts = { type: 'v100', total: 4, free: 1, mine: 1, others: 2, unclear: 0, out: 0 };
    expect(gpusShort(counts)).toBe('1 of 4 v100 free, 1 yours');
    expect(memoryCell({ memory_gb: 128, memory_free_gb: 0 })).toBe('0 of 128 GB');
  });

  it('has a label for each condition', () => {
    expect(conditionLabel(drained)).toMatchObject({ label: 'Out of service', tone: 'bad' });
    expect(conditionLabel({ condition: 'unknown' })).toMatchObject({ label: 'Unknown' });
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
    const many = Array.from({ length: 9 }, (_, index) => `n${index}`);
    expect(reservationNodes(plan(1, 1, { nodes: many }))).toBe('n0, n1, n2, n3 and 5 more');
    expect(reservationNodes(plan(1, 1, { nodes: many, all_nodes: true }))).toBe('all nodes');
    expect(reservationsOf('node1', [plan(1, 1), plan(2, 1, { nodes: ['other'] })])).toHaveLength(1);
  });

  it('has a position in the timeline', () => {
    const lengthMs = timelineLength([plan(1, 1), plan(90, 10)], NOW);
    expect(lengthMs).toBeCloseTo(105 * 3_600_000);
    expect(timelineLength([], NOW)).toBe(DAY / 2);
    expect(timelineLength([plan(0, 10_000)], NOW)).toBe(30 * DAY);
    expect(spanOf(plan(-2, 4), NOW, 4 * 3_600_000)).toEqual({ from: 0, length: 0.5 });
    expect(spanOf(plan(2, 20), NOW, 4 * 3_600_000)).toEqual({ from: 0.5, length: 0.5 });
    expect(spanOf(plan(5, 1), NOW, 4 * 3_600_000)).toBeNull();
  });

  it('has a few labels, all in the future', () => {
    for (const lengthMs of [DAY / 2, DAY, 5 * DAY, 30 * DAY]) {
      const times = ticks(NOW, lengthMs);
      expect(times.length).toBeGreaterThan(0);
      expect(times.length).toBeLessThan(6);
      expect(times.every((at) => at > NOW && at < NOW + lengthMs)).toBe(true);
    }
  });
});
