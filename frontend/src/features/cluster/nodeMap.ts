/** Nodes as a picture and as a table: what each GPU is, which nodes are alike, in which order. Pure. */
import { translateExact } from '@/i18n/translate';
import { type ClusterSearch, type Column, NO_GPU, type Show } from './search';
import type { Reservation, VisibleNode } from './types';

export type Square = 'mine' | 'others' | 'unclear' | 'free' | 'out';
export const SQUARES: readonly Square[] = ['mine', 'others', 'unclear', 'free', 'out'];

export type Counts = Record<Square | 'total', number>;

const NONE: Counts = { mine: 0, others: 0, unclear: 0, free: 0, out: 0, total: 0 };

/** The GPUs of these nodes together; of one type, if one is named. */
export function countGpus(nodes: readonly VisibleNode[], type?: string): Counts {
  const sum = { ...NONE };
  for (const node of nodes)
    for (const gpus of node.gpus) {
      if (type !== undefined && gpus.type !== type) continue;
      sum.total += gpus.total;
      for (const square of SQUARES) sum[square] += gpus[square];
    }
  return sum;
}

/** One word for each GPU. Slurm doesn't say which of a node's GPUs is whose, so what is alike stands
 * together. */
export const squaresOf = (gpus: VisibleNode['gpus'][number]): Square[] =>
  SQUARES.flatMap((square) => Array<Square>(gpus[square]).fill(square));

export interface Part {
  square: Square;
  /** of all, in any unit */
  share: number;
}

/** How much of a node's CPUs is free: the picture of a node without GPUs. */
export function cpuParts(node: Pick<VisibleNode, 'cpus' | 'cpus_free' | 'takes_work'>): Part[] {
  if (!node.takes_work) return [{ square: 'out', share: node.cpus }];
  return [
    { square: 'others', share: node.cpus - node.cpus_free },
    { square: 'free', share: node.cpus_free },
  ];
}

/** A node in stripes, as a CSS background: one for each GPU, else for its CPUs in use and free. */
export function stripesOf(node: VisibleNode): string {
  const squares = node.gpus.flatMap(squaresOf);
  const parts: Part[] =
    squares.length > 0 ? squares.map((square) => ({ square, share: 1 })) : cpuParts(node);
  const whole = parts.reduce((sum, part) => sum + part.share, 0) || 1;
  let at = 0;
  const stops = parts.flatMap(({ square, share }) => {
    const from = percent(at / whole);
    at += share;
    const to = percent(at / whole);
    const gap = squares.length > 0 ? [`var(--surface) calc(${to} - 1px) ${to}`] : [];
    return [`var(--stripe-${square}) ${from} ${gap.length > 0 ? `calc(${to} - 1px)` : to}`, ...gap];
  });
  return `linear-gradient(90deg, ${stops.join(', ')})`;
}

const percent = (share: number): string => `${Math.round(share * 1000) / 10}%`;

export const gpuTypes = (nodes: readonly VisibleNode[]): string[] =>
  [...new Set(nodes.flatMap((node) => node.gpus.map((gpus) => gpus.type)))].sort();

export interface Group {
  key: string;
  /** the first of them; in what they are made of the others are like it */
  like: VisibleNode;
  nodes: VisibleNode[];
}

const hardwareOf = (node: VisibleNode): string =>
  JSON.stringify([node.gpus.map((gpus) => [gpus.type, gpus.total]), node.cpus, node.memory_gb]);

/** Nodes that are made alike; those with the most GPUs first, in each the nodes by name. */
export function groups(nodes: readonly VisibleNode[]): Group[] {
  const found = new Map<string, VisibleNode[]>();
  for (const node of nodes) {
    const key = hardwareOf(node);
    const alike = found.get(key);
    if (alike) alike.push(node);
    else found.set(key, [node]);
  }
  const all: Group[] = [];
  for (const [key, alike] of found) {
    const [like] = alike;
    if (like) all.push({ key, like, nodes: alike });
  }
  const gpus = (group: Group): number => countGpus([group.like]).total;
  return all.sort((a, b) => gpus(b) - gpus(a) || b.nodes.length - a.nodes.length);
}

const IS: Record<Show, (node: VisibleNode) => boolean> = {
  free: (node) =>
    node.takes_work &&
    (node.gpus.length === 0 ? node.cpus_free > 0 : node.gpus.some((gpus) => gpus.free > 0)),
  mine: (node) => node.mine.length > 0,
  busy: (node) => node.jobs > 0,
  out: (node) => !node.takes_work,
};

/** All a node can be found by. */
function text(node: VisibleNode): string {
  const { addresses, users } = node;
  return [
    node.name,
    node.state,
    node.reason,
    translateExact(node.reason),
    ...node.partitions,
    ...node.gpus.map((gpus) => gpus.type),
    ...(users ?? []).map((user) => user.username),
    addresses?.in_band,
    addresses?.infiniband,
    addresses?.management,
  ]
    .filter((one) => one !== null && one !== undefined)
    .join('\n')
    .toLowerCase();
}

/** The nodes that match the filters. */
export function filtered(nodes: readonly VisibleNode[], search: ClusterSearch): VisibleNode[] {
  const words = (search.q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const { partition, gpu, show } = search;
  return nodes.filter(
    (node) =>
      (partition === undefined || node.partitions.includes(partition)) &&
      (gpu === undefined ||
        (gpu === NO_GPU ? node.gpus.length === 0 : node.gpus.some((gpus) => gpus.type === gpu))) &&
      (show === undefined || IS[show](node)) &&
      (words.length === 0 || words.every((word) => text(node).includes(word))),
  );
}

const BY_NAME = new Intl.Collator('en', { numeric: true });

const BY: Record<Column, (a: VisibleNode, b: VisibleNode) => number> = {
  name: () => 0,
  state: (a, b) => a.condition.localeCompare(b.condition),
  gpus: (a, b) => countGpus([b]).free - countGpus([a]).free,
  cpus: (a, b) => b.cpus_free - a.cpus_free,
  memory: (a, b) => b.memory_free_gb - a.memory_free_gb,
  partitions: (a, b) => a.partitions.join().localeCompare(b.partitions.join()),
};

/** node2 before node10; numbers with the largest first. */
export function sorted(nodes: readonly VisibleNode[], search: ClusterSearch): VisibleNode[] {
  const by = BY[search.sort ?? 'name'];
  const way = search.desc ? -1 : 1;
  return [...nodes].sort((a, b) => way * (by(a, b) || BY_NAME.compare(a.name, b.name)));
}

/** The reservations of a node, the next first. */
export const reservationsOf = (node: VisibleNode, ahead: readonly Reservation[]): Reservation[] =>
  ahead.filter((one) => one.nodes.includes(node.name));

export interface Span {
  /** where it begins and how long it is, in parts of the whole, 0 to 1 */
  from: number;
  long: number;
}

const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
const LEAST = 12 * HOUR;
const MOST = 30 * DAY;

/** How far ahead a timeline looks, in ms: all that is planned, half a day to a month. */
export function reach(ahead: readonly Reservation[], nowMs: number): number {
  const last = Math.max(0, ...ahead.map((one) => Date.parse(one.end) - nowMs));
  return Math.min(MOST, Math.max(LEAST, last * 1.05));
}

/** Where a reservation stands in a timeline; null: beyond its end. */
export function spanOf(
  { start, end }: Pick<Reservation, 'start' | 'end'>,
  nowMs: number,
  reachMs: number,
): Span | null {
  const from = Math.max(0, (Date.parse(start) - nowMs) / reachMs);
  const to = Math.min(1, (Date.parse(end) - nowMs) / reachMs);
  return from >= 1 || to <= 0 ? null : { from, long: to - from };
}

/** Within this part of a timeline a mark's words find room. */
const ROOM = 0.85;

/** Moments to write under a timeline: whole days of the reader's calendar, or hours where it is
 * short; few enough for a phone. */
export function ticks(nowMs: number, reachMs: number): number[] {
  const inDays = reachMs > 2 * DAY;
  const step = inDays
    ? DAY * Math.ceil(reachMs / DAY / 4)
    : Math.max(6, Math.ceil(reachMs / HOUR / 24) * 6) * HOUR;
  const first = inDays ? midnight(nowMs) : nextHour(nowMs, 6);
  const found: number[] = [];
  for (let at = first; at < nowMs + ROOM * reachMs; at += step) found.push(at);
  // one right behind "now" would stand upon it
  return found.filter((at) => at - nowMs > 0.12 * reachMs);
}

function midnight(nowMs: number): number {
  const day = new Date(nowMs);
  day.setHours(24, 0, 0, 0);
  return day.getTime();
}

function nextHour(nowMs: number, every: number): number {
  const at = new Date(nowMs);
  at.setHours(Math.floor(at.getHours() / every) * every + every, 0, 0, 0);
  return at.getTime();
}
