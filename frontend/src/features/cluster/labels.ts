/** Labels of the cluster page. Pure. */
import { t } from '@lingui/core/macro';
import { joinSentences, joinWithCommas } from '@/i18n/lists';
import { translateExact } from '@/i18n/translate';
import { countText } from '@/lib/countText';
import { cpuCountText, gpuRequestText } from '@/lib/resourceLabels';
import { memoryText } from '@/lib/sizes';
import type { StateLabel } from '@/ui/StateChip';
import { type Counts, type GpuState, gpusOf, type MapNode } from './nodeMap';
import type {
  ClusterNode,
  Condition,
  Hardware,
  MyWaiting,
  NodeGpus,
  PartitionQueue,
  Reservation,
} from './types';

const CONDITIONS: Record<Condition, StateLabel & { means: string }> = {
  free: { label: t`Free`, tone: 'good', means: t`No jobs are running here.` },
  partly: { label: t`Partly in use`, tone: 'good', means: t`Some of its CPUs are in use.` },
  full: { label: t`In use`, tone: 'busy', means: t`All its CPUs are in use.` },
  draining: {
    label: t`Draining`,
    tone: 'waiting',
    means: t`An administrator is draining it: running jobs may finish, no new ones start.`,
  },
  drained: {
    label: t`Out of service`,
    tone: 'bad',
    means: t`An administrator has taken it out of service.`,
  },
  down: { label: t`Down`, tone: 'bad', means: t`Slurm has lost contact with it.` },
  silent: { label: t`Not responding`, tone: 'bad', means: t`It doesn't answer Slurm.` },
  maintenance: { label: t`Maintenance`, tone: 'waiting', means: t`It is under maintenance.` },
  reserved: { label: t`Reserved`, tone: 'waiting', means: t`It is held for a reservation.` },
  restarting: { label: t`Restarting`, tone: 'waiting', means: t`It is restarting.` },
  asleep: {
    label: t`Powered down`,
    tone: 'quiet',
    means: t`It is powered up when a job needs it.`,
  },
  waking: { label: t`Powering up`, tone: 'busy', means: t`It is powering up.` },
  unknown: { label: t`Unknown`, tone: 'quiet', means: t`Slurm does not report its state.` },
};

export const conditionLabel = ({ condition }: Pick<ClusterNode, 'condition'>) =>
  CONDITIONS[condition];

/** The labels of the map's squares. */
export const GPU_STATE_LABELS: Record<GpuState, string> = {
  free: t`free`,
  mine: t`yours`,
  others: t`in use by others`,
  unclear: t`in use`,
  out: t`out of service`,
};

const COUNTED: Record<GpuState, (number: string) => string> = {
  free: (number) => t`${number} free`,
  mine: (number) => t`${number} yours`,
  others: (number) => t`${number} in use by others`,
  unclear: (number) => t`${number} in use`,
  out: (number) => t`${number} out of service`,
};

/** Format counts in the order of the squares: "1 free, 2 yours, 1 in use by others". */
export function countsText(counts: Pick<Counts, GpuState>): string {
  const order: GpuState[] = ['free', 'mine', 'others', 'unclear', 'out'];
  const present = order.filter((state) => counts[state] > 0);
  return joinWithCommas(present.map((state) => COUNTED[state](countText(counts[state]))));
}

export const nodeGpusText = (gpus: NodeGpus): string =>
  t`${{ type: gpus.type }}: ${{ counts: countsText(gpus) }}`;

/** Format a table cell: "2 of 4 free, 1 yours". */
export function gpusShort(gpus: NodeGpus): string {
  const { free, total, type, mine } = gpus;
  return mine > 0
    ? t`${free} of ${total} ${type} free, ${mine} yours`
    : t`${free} of ${total} ${type} free`;
}

export const cpusFreeText = (node: Pick<ClusterNode, 'cpus' | 'cpus_free'>): string =>
  t`${{ free: node.cpus_free }} of ${{ total: node.cpus }} CPUs free`;

type Memory = Pick<ClusterNode, 'memory_gb' | 'memory_free_gb'>;

const memoryFree = ({ memory_free_gb: free }: Memory): string =>
  free === 0 ? '0' : memoryText(free);

/** Format a cell of free memory: "64 GB of 128 GB". */
export const memoryCell = (node: Memory): string =>
  t`${{ free: memoryFree(node) }} of ${{ total: memoryText(node.memory_gb) }}`;

export const memoryFreeText = (node: Memory): string =>
  t`${{ free: memoryFree(node) }} of ${{ total: memoryText(node.memory_gb) }} free`;

/** Describe a node in one sentence, for screen readers. */
export function describeNode(node: MapNode): string {
  const { name, hardware, cpusFree } = node;
  const parts = gpusOf(node).map(nodeGpusText);
  const reason = translateExact(node.reason);
  if (reason) parts.unshift(reason);
  if (cpusFree !== null && parts.length === 0)
    parts.push(cpusFreeText({ cpus: hardware.cpus, cpus_free: cpusFree }));
  const condition = t`${name}: ${{ condition: conditionLabel(node).label }}.`;
  return joinSentences([condition, ...parts.map((part) => t`${part}.`)]);
}

/** Describe the hardware of a group of nodes: "4 v100 GPUs, 32 CPUs, 128 GB". */
export function nodeHardwareText({ gpus, cpus, memory_gb }: Hardware): string {
  const each = gpus.map(([gpu_type, count]) => gpuRequestText({ gpus: count, gpu_type }));
  const all = each.length === 0 ? [t`no GPU`] : each;
  return joinWithCommas([...all, cpuCountText(cpus), memoryText(memory_gb)]);
}

/** Format a position in the queue. It is approximate: backfill lets small jobs start earlier. */
export function placeText({ place }: Pick<MyWaiting, 'place'>, queue: PartitionQueue): string {
  const { name, in_line: all } = queue;
  if (place === null) return t`Not eligible yet in ${name}`;
  if (place === 1) return t`Next in ${name}`;
  return t`About position ${place} of ${all} in ${name}`;
}

export interface Waits {
  job: MyWaiting;
  /** one line for each partition that it is pending in */
  places: string[];
}

/** Return the user's pending jobs, each once, with their positions. */
export function pendingPositions(partitions: readonly PartitionQueue[]): Waits[] {
  const byId = new Map<number, Waits>();
  for (const queue of partitions)
    for (const job of queue.mine) {
      const waits = byId.get(job.job_id) ?? { job, places: [] };
      waits.places.push(placeText(job, queue));
      byId.set(job.job_id, waits);
    }
  return [...byId.values()];
}

/** Format the number of pending jobs: "3 and 1 not eligible". */
export function waitingText(queue: Pick<PartitionQueue, 'in_line' | 'aside'>): string {
  const { in_line: eligible, aside: ineligible } = queue;
  return ineligible === 0 ? String(eligible) : t`${eligible} and ${ineligible} not eligible`;
}

/** Return a reservation's title, including the users that it is for. */
export function reservationTitle(reservation: Reservation): string {
  const { name } = reservation;
  if (reservation.maintenance) return name === null ? t`Maintenance` : t`Maintenance ${name}`;
  if (reservation.mine) return t`Reserved for you: ${{ name: name ?? '' }}`;
  return name === null ? t`Reserved for others` : t`Reservation ${name}`;
}

/** Return the effect of a reservation on the user. */
export function reservationSuggestion(reservation: Reservation, begun: boolean): string {
  if (reservation.mine)
    return t`A job runs in it with “--reservation=${{ name: reservation.name ?? '' }}”.`;
  if (begun) return t`No other jobs start on these nodes until it ends.`;
  return t`Jobs that would still be running when it begins don't start on these nodes before it; a shorter time limit may help.`;
}

const MAX_NAMES = 4;

/** Format a reservation's nodes: "all nodes", "node01, node02", "node01, node02, node03, node04 and
 * 12 more". */
export function reservationNodes({
  nodes,
  all_nodes,
}: Pick<Reservation, 'nodes' | 'all_nodes'>): string {
  if (all_nodes) return t`all nodes`;
  const first = joinWithCommas(nodes.slice(0, MAX_NAMES));
  const rest = nodes.length - MAX_NAMES;
  return rest > 0 ? t`${first} and ${rest} more` : first;
}
