/** Data of the node map and the node table: GPU states, groups of equal nodes, order. Pure. */
import { translateExact } from '@/i18n/translate';
import { type ClusterSearch, type Column, NO_GPU, type Show } from './search';
import type { Reservation, VisibleNode } from './types';

export type Square = 'mine' | 'others' | 'unclear' | 'free' | 'out';
export const SQUARES: readonly Square[] = ['mine', 'others', 'unclear', 'free', 'out'];

export type Counts = Record<Square | 'total', number>;

const NONE: Counts = { mine: 0, others: 0, unclear: 0, free: 0, out: 0, total: 0 };

/** Count the GPUs of these nodes, optionally of one type. */
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

/** Return one state for each GPU, sorted: Slurm does not report which GPU of a node a job has. */
export const squaresOf = (gpus: VisibleNode['gpus'][number]): Square[] =>
  SQUARES.flatMap((square) => Array<Square>(gpus[square]).fill(square));

export interface Part {
  square: Square;
  /** of all, in any unit */
  share: number;
}

/** Return the free share of a node's CPUs: the map's data for a node without GPUs. */
export function cpuParts(node: Pick<VisibleNode, 'cpus' | 'cpus_free' | 'takes_work'>): Part[] {
  if (!node.takes_work) return [{ square: 'out', share: node.cpus }];
  return [
    { square: 'others', share: node.cpus - node.cpus_free },
    { square: 'free', share: node.cpus_free },
  ];
}

/** Return a CSS background for a node: one stripe for each GPU, else for its used and free CPUs. */
export function stripesOf(node: VisibleNode): string {
  const squares = node.gpus.flatMap(squaresOf);
  const parts: Part[] =
    squares.length > 0 ? squares.map((square) => ({ square, share: 1 })) : cpuParts(node);
  const total = parts.reduce((sum, part) => sum + part.share, 0) || 1;
  let at = 0;
  const stops = parts.flatMap(({ square, share }) => {
    const from = percent(at / total);
    at += share;
    const to = percent(at / total);
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
  /** the first of the nodes; all have the same hardware */
  like: VisibleNode;
  nodes: VisibleNode[];
}

const hardwareOf = (node: VisibleNode): string =>
  JSON.stringify([node.gpus.map((gpus) => [gpus.type, gpus.total]), node.cpus, node.memory_gb]);

/** Group nodes by hardware: those with the most GPUs first, and in each group the nodes by name. */
export function groupNodes(nodes: readonly VisibleNode[]): Group[] {
  const byHardware = new Map<string, VisibleNode[]>();
  for (const node of nodes) {
    const key = hardwareOf(node);
    const alike = byHardware.get(key);
    if (alike) alike.push(node);
    else byHardware.set(key, [node]);
  }
  const all: Group[] = [];
  for (const [key, alike] of byHardware) {
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

/** Return the text that the search matches. */
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
    .filter((text) => text !== null && text !== undefined)
    .join('\n')
    .toLowerCase();
}

/** The nodes that match the filters. */
export function filterNodes(nodes: readonly VisibleNode[], search: ClusterSearch): VisibleNode[] {
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

/** Sort by name (node2 before node10), or by a number with the largest first. */
export function sortNodes(nodes: readonly VisibleNode[], search: ClusterSearch): VisibleNode[] {
  const by = BY[search.sort ?? 'name'];
  const way = search.desc ? -1 : 1;
  return [...nodes].sort((a, b) => way * (by(a, b) || BY_NAME.compare(a.name, b.name)));
}

/** Return a node's reservations, the next first. */
export const reservationsOf = (node: VisibleNode, ahead: readonly Reservation[]): Reservation[] =>
  ahead.filter((reservation) => reservation.nodes.includes(node.name));

export interface Span {
  /** its start and length, as fractions of the timeline, 0 to 1 */
  from: number;
  long: number;
}

const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
const LEAST = 12 * HOUR;
const MOST = 30 * DAY;

/** Return the length of the timeline in ms: up to the last reservation, between half a day and a
 * month. */
export function timelineLength(ahead: readonly Reservation[], nowMs: number): number {
  const last = Math.max(0, ...ahead.map((reservation) => Date.parse(reservation.end) - nowMs));
  return Math.min(MOST, Math.max(LEAST, last * 1.05));
}

/** Return a reservation's position in the timeline; null: beyond its end. */
export function spanOf(
  { start, end }: Pick<Reservation, 'start' | 'end'>,
  nowMs: number,
  reachMs: number,
): Span | null {
  const from = Math.max(0, (Date.parse(start) - nowMs) / reachMs);
  const to = Math.min(1, (Date.parse(end) - nowMs) / reachMs);
  return from >= 1 || to <= 0 ? null : { from, long: to - from };
}

/** Labels begin within this fraction of the timeline, so that their text fits. */
const ROOM = 0.85;

/** Return the times to label below a timeline: days in the reader's time zone, or hours if it is
 * short; few enough for a phone. */
export function ticks(nowMs: number, reachMs: number): number[] {
  const inDays = reachMs > 2 * DAY;
  const step = inDays
    ? DAY * Math.ceil(reachMs / DAY / 4)
    : Math.max(6, Math.ceil(reachMs / HOUR / 24) * 6) * HOUR;
  const first = inDays ? midnight(nowMs) : nextHour(nowMs, 6);
  const times: number[] = [];
  for (let at = first; at < nowMs + ROOM * reachMs; at += step) times.push(at);
  // a label close to "now" would overlap it
  return times.filter((at) => at - nowMs > 0.12 * reachMs);
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
