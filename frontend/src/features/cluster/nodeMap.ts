/** Data of the node map: nodes from short records, GPU states, groups of equal nodes. Pure. */
import type { ClusterNode, Hardware, MapAnswer, MapRecord, NodeGpus } from './types';

/** `unclear`: in use, but Slurm doesn't report whether by the user's jobs or by others'. */
export type GpuState = 'mine' | 'others' | 'unclear' | 'free' | 'out';
export const GPU_STATES: readonly GpuState[] = ['mine', 'others', 'unclear', 'free', 'out'];

export type Counts = Record<GpuState | 'total', number>;

const NONE: Counts = { mine: 0, others: 0, unclear: 0, free: 0, out: 0, total: 0 };

/** The letters of a record's GPUs. */
const STATE_LETTERS: Readonly<Record<string, GpuState>> = {
  m: 'mine',
  o: 'others',
  u: 'unclear',
  f: 'free',
  x: 'out',
};

/** A node in the map. */
export interface MapNode {
  name: string;
  hardware: Hardware;
  condition: ClusterNode['condition'];
  /** a state for each GPU: Slurm does not report which GPU of a node a job has */
  gpuStates: readonly GpuState[];
  /** null on a node that accepts no jobs */
  cpusFree: number | null;
  /** why it accepts no jobs */
  reason: string | null;
  /** whether the user has jobs on it */
  mine: boolean;
}

export interface NodeMapData {
  version: string;
  at: string | null;
  nodes: readonly MapNode[];
  /** the records as all users see them, by name: what the next changes apply to */
  shared: ReadonlyMap<string, MapRecord>;
}

const BY_NAME = new Intl.Collator('en', { numeric: true });

/** Return the map after an answer: a complete one, or what has changed since `before`. */
export function applyAnswer(before: NodeMapData | undefined, answer: MapAnswer): NodeMapData {
  const shared = new Map(answer.complete ? [] : before?.shared);
  for (const name of answer.gone) shared.delete(name);
  for (const record of answer.nodes) shared.set(record[0], record);
  const own = new Map(answer.own.map((record) => [record[0], record]));
  const nodes = [...shared.values()].map((record) =>
    toMapNode(own.get(record[0]) ?? record, answer.hardware, own.has(record[0])),
  );
  nodes.sort((a, b) => BY_NAME.compare(a.name, b.name));
  return { version: answer.version, at: answer.at, nodes, shared };
}

const NO_HARDWARE: Hardware = { gpus: [], cpus: 0, memory_gb: 0 };

function toMapNode(record: MapRecord, hardware: readonly Hardware[], mine: boolean): MapNode {
  const [name, index, condition, gpus, cpusFree, reason] = record;
  return {
    name,
    hardware: hardware[index] ?? NO_HARDWARE,
    condition,
    gpuStates: [...gpus].map((letter) => STATE_LETTERS[letter] ?? 'unclear'),
    cpusFree,
    reason,
    mine,
  };
}

/** Return a state for each of the node's GPUs, by type. */
export function gpuStatesByType(node: MapNode): { type: string; gpuStates: readonly GpuState[] }[] {
  let from = 0;
  return node.hardware.gpus.map(([type, total]) => {
    from += total;
    return { type, gpuStates: node.gpuStates.slice(from - total, from) };
  });
}

/** Return the node's GPUs by type. */
export const gpusOf = (node: MapNode): NodeGpus[] =>
  gpuStatesByType(node).map(({ type, gpuStates }) => ({ type, ...countStates(gpuStates) }));

function countStates(gpuStates: readonly GpuState[]): Counts {
  const counts = { ...NONE, total: gpuStates.length };
  for (const state of gpuStates) counts[state] += 1;
  return counts;
}

/** Count the GPUs of these nodes. */
export function countGpus(nodes: readonly MapNode[]): Counts {
  const sum = { ...NONE };
  for (const { gpuStates } of nodes) {
    sum.total += gpuStates.length;
    for (const state of gpuStates) sum[state] += 1;
  }
  return sum;
}

/** Add up counts, such as those of the types. */
export function sumCounts(parts: readonly Counts[]): Counts {
  const sum = { ...NONE };
  for (const part of parts) {
    sum.total += part.total;
    for (const state of GPU_STATES) sum[state] += part[state];
  }
  return sum;
}

export interface Part {
  state: GpuState;
  /** of all, in any unit */
  share: number;
}

/** Return the used and the free CPUs of a node, or all of them as out of service: the parts of a node
 * without GPUs. */
export function cpuParts({ hardware: { cpus }, cpusFree }: MapNode): Part[] {
  if (cpusFree === null) return [{ state: 'out', share: cpus }];
  return [
    { state: 'others', share: cpus - cpusFree },
    { state: 'free', share: cpusFree },
  ];
}

/** Return the parts of a node's box: its GPUs, else its used and free CPUs. */
export const partsOf = (node: MapNode): Part[] =>
  node.gpuStates.length > 0
    ? node.gpuStates.map((state) => ({ state, share: 1 }))
    : cpuParts(node).filter(({ share }) => share > 0);

export interface Group {
  key: string;
  hardware: Hardware;
  nodes: MapNode[];
}

/** Group nodes by hardware: those with the most GPUs first, and in each group the nodes by name. */
export function groupNodes(nodes: readonly MapNode[]): Group[] {
  const groups = new Map<Hardware, Group>();
  for (const node of nodes) {
    const { hardware } = node;
    const alike = groups.get(hardware);
    if (alike) alike.nodes.push(node);
    else groups.set(hardware, { key: JSON.stringify(hardware), hardware, nodes: [node] });
  }
  const gpus = ({ hardware }: Group): number =>
    hardware.gpus.reduce((sum, [, total]) => sum + total, 0);
  return [...groups.values()].sort((a, b) => gpus(b) - gpus(a) || b.nodes.length - a.nodes.length);
}

/** The side of a node's box in the dense map and the gap between two, in CSS pixels. */
export interface BoxSize {
  side: number;
  gap: number;
}

const MANY = 1000;

export const boxSize = (count: number): BoxSize =>
  count > MANY ? { side: 15, gap: 3 } : { side: 24, gap: 4 };

export const columnsIn = (widthPx: number, { side, gap }: BoxSize): number =>
  Math.max(1, Math.floor((widthPx + gap) / (side + gap)));

/** Return which box is at a point; undefined in a gap, or beyond the last box. */
export function boxAt(
  x: number,
  y: number,
  columns: number,
  count: number,
  { side, gap }: BoxSize,
): number | undefined {
  const step = side + gap;
  const [column, row] = [Math.floor(x / step), Math.floor(y / step)];
  if (x < 0 || y < 0 || column >= columns || x % step >= side || y % step >= side) return undefined;
  const index = row * columns + column;
  return index < count ? index : undefined;
}
