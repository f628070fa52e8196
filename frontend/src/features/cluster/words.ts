/** The cluster's page in words. Pure. */
import { gpuText, memoryText, type StateWords } from '@/features/sessions/words';
import type { Counts, Square } from './picture';
import type {
  Condition,
  MyWaiting,
  NodeGpus,
  PartitionQueue,
  Reservation,
  SeenNode,
} from './shapes';

const CONDITIONS: Record<Condition, StateWords & { means: string }> = {
  free: { label: 'Free', tone: 'good', means: 'Nothing runs here.' },
  partly: { label: 'Partly in use', tone: 'good', means: 'Part of its CPUs is in use.' },
  full: { label: 'In use', tone: 'busy', means: 'All its CPUs are in use.' },
  draining: {
    label: 'Being emptied',
    tone: 'waiting',
    means: 'An administrator takes it out of service; what runs here may end.',
  },
  drained: {
    label: 'Out of service',
    tone: 'bad',
    means: 'An administrator has taken it out of service.',
  },
  down: { label: 'Down', tone: 'bad', means: 'Slurm has lost it.' },
  silent: { label: 'No answer', tone: 'bad', means: 'It does not answer Slurm at the moment.' },
  maintenance: { label: 'Maintenance', tone: 'waiting', means: 'It is being serviced.' },
  reserved: { label: 'Reserved', tone: 'waiting', means: 'It is kept for a reservation.' },
  restarting: { label: 'Restarting', tone: 'waiting', means: 'It is being started again.' },
  asleep: { label: 'Asleep', tone: 'quiet', means: 'It is switched on when a job needs it.' },
  waking: { label: 'Waking up', tone: 'busy', means: 'It is being switched on.' },
  unknown: { label: 'Not known', tone: 'quiet', means: 'Slurm does not say how it does.' },
};

export const conditionWords = ({ condition }: Pick<SeenNode, 'condition'>) => CONDITIONS[condition];

export const SQUARE_WORDS: Record<Square, string> = {
  free: 'free',
  mine: 'yours',
  others: 'in use by others',
  unclear: 'in use',
  out: 'out of service',
};

/** "1 free, 2 yours, 1 in use by others": what there is of each, in the order of the squares. */
export function countsText(counts: Pick<Counts, Square>): string {
  const order: Square[] = ['free', 'mine', 'others', 'unclear', 'out'];
  return order
    .filter((square) => counts[square] > 0)
    .map((square) => `${count(counts[square])} ${SQUARE_WORDS[square]}`)
    .join(', ');
}

export const gpusText = (gpus: NodeGpus): string => `${gpus.type}: ${countsText(gpus)}`;

/** "2 of 4 free, 1 yours": a table's cell. */
export function gpusShort(gpus: NodeGpus): string {
  const mine = gpus.mine > 0 ? `, ${gpus.mine} yours` : '';
  return `${gpus.free} of ${gpus.total} ${gpus.type} free${mine}`;
}

export const cpusText = (node: Pick<SeenNode, 'cpus' | 'cpus_free'>): string =>
  `${node.cpus_free} of ${node.cpus} CPUs free`;

/** "64 GB of 128 GB", for a column of what is free. */
export function memoryCell(node: Pick<SeenNode, 'memory_gb' | 'memory_free_gb'>): string {
  const free = node.memory_free_gb === 0 ? '0' : memoryText(node.memory_free_gb);
  return `${free} of ${memoryText(node.memory_gb)}`;
}

export const memoryFreeText = (node: Pick<SeenNode, 'memory_gb' | 'memory_free_gb'>): string =>
  `${memoryCell(node)} free`;

/** All of a node in one sentence, for who hears the picture. */
export function nodeSentence(node: SeenNode): string {
  const parts = [conditionWords(node).label];
  if (!node.takes_work && node.reason) parts.push(node.reason);
  for (const gpus of node.gpus) parts.push(gpusText(gpus));
  if (node.takes_work && node.gpus.length === 0) parts.push(cpusText(node));
  return `${node.name}: ${parts.join('. ')}.`;
}

/** What a group of nodes is made of: "4 v100 GPUs, 32 CPUs, 128 GB". */
export function madeText(node: Pick<SeenNode, 'gpus' | 'cpus' | 'memory_gb'>): string {
  const gpus = node.gpus.map(({ type, total }) => gpuText({ gpus: total, gpu_type: type }));
  const all = gpus.length === 0 ? ['no GPU'] : gpus;
  return [...all, `${node.cpus} CPUs`, memoryText(node.memory_gb)].join(', ');
}

/** "12,500", as the reader writes it. */
export const count = (number: number): string => number.toLocaleString();

export const nodesText = (number: number): string =>
  number === 1 ? '1 node' : `${count(number)} nodes`;

/** A place in the queue. It is about right: Slurm fits small jobs in between. */
export function placeText({ place }: Pick<MyWaiting, 'place'>, queue: PartitionQueue): string {
  if (place === null) return `Not in line in ${queue.name}`;
  if (place === 1) return `Next in line in ${queue.name}`;
  return `About place ${place} of ${queue.in_line} in ${queue.name}`;
}

export interface Waits {
  job: MyWaiting;
  /** a line for each partition that it waits in */
  places: string[];
}

/** One's own that waits, each once, with its places. */
export function whereMineWait(partitions: readonly PartitionQueue[]): Waits[] {
  const found = new Map<number, Waits>();
  for (const queue of partitions)
    for (const job of queue.mine) {
      const waits = found.get(job.job_id) ?? { job, places: [] };
      waits.places.push(placeText(job, queue));
      found.set(job.job_id, waits);
    }
  return [...found.values()];
}

/** "3 in line, 1 waits for something else". */
export function waitingText(queue: Pick<PartitionQueue, 'in_line' | 'aside'>): string {
  if (queue.aside === 0) return String(queue.in_line);
  return `${queue.in_line} and ${queue.aside} not in line`;
}

/** What a reservation is, for whom. */
export function aheadTitle(one: Reservation): string {
  if (one.maintenance) return one.name === null ? 'Maintenance' : `Maintenance ${one.name}`;
  if (one.mine) return `Kept for you: ${one.name}`;
  return one.name === null ? 'Kept for others' : `Reservation ${one.name}`;
}

/** What it means for who looks. */
export function aheadAdvice(one: Reservation, begun: boolean): string {
  if (one.mine) return `A job runs in it with “--reservation=${one.name}”.`;
  if (begun) return 'Nothing else starts on these nodes until it ends.';
  return 'What would still run when it begins is not started on these nodes before it: a shorter time limit may let it.';
}

const MOST_NAMES = 4;

/** "all nodes", "node01, node02", "node01, node02, node03, node04 and 12 more". */
export function whichNodes({ nodes, all_nodes }: Pick<Reservation, 'nodes' | 'all_nodes'>): string {
  if (all_nodes) return 'all nodes';
  const first = nodes.slice(0, MOST_NAMES).join(', ');
  const rest = nodes.length - MOST_NAMES;
  return rest > 0 ? `${first} and ${rest} more` : first;
}
