/** States and outcomes in the words people use. Pure. */
import type { Outcome, Session, SomeResources } from '@/api/types';
import { minutesAsTime } from '@/lib/time';

export type Tone = 'busy' | 'good' | 'waiting' | 'quiet' | 'bad';

export interface StateWords {
  label: string;
  tone: Tone;
}

const OUTCOMES: Record<Outcome, StateWords> = {
  completed: { label: 'Finished', tone: 'quiet' },
  cancelled: { label: 'Stopped', tone: 'quiet' },
  failed: { label: 'Failed', tone: 'bad' },
  timeout: { label: 'Time was up', tone: 'bad' },
  out_of_memory: { label: 'Out of memory', tone: 'bad' },
  node_failed: { label: 'Node failed', tone: 'bad' },
};

export function stateWords(session: Pick<Session, 'state' | 'outcome'>): StateWords {
  switch (session.state) {
    case 'submitting':
      return { label: 'Submitting', tone: 'busy' };
    case 'queued':
      return { label: 'Queued', tone: 'waiting' };
    case 'starting':
      return { label: 'Starting', tone: 'busy' };
    case 'running':
      return { label: 'Running', tone: 'good' };
    case 'suspended':
      return { label: 'Suspended', tone: 'waiting' };
    case 'stopping':
      return { label: 'Stopping', tone: 'busy' };
    case 'ended':
      return session.outcome ? OUTCOMES[session.outcome] : { label: 'Ended', tone: 'quiet' };
  }
}

/** JupyterLab's page, with the notebook to begin with if there is one; null while it doesn't run. */
export const labUrl = ({ url, opens }: Pick<Session, 'url' | 'opens'>): string | null =>
  url === null ? null : `${url}${opens ?? ''}`;

/** Ended in a way its owner didn't choose: the card says why and shows the log's end. */
export function wentWrong(session: Pick<Session, 'state' | 'outcome'>): boolean {
  return session.state === 'ended' && stateWords(session).tone === 'bad';
}

/** Why it has ended, when the portal itself gives no reason. */
export function endReason(session: Pick<Session, 'outcome' | 'reason' | 'node'>): string {
  if (session.reason) return session.reason;
  switch (session.outcome) {
    case 'completed':
      return 'It came to its end by itself.';
    case 'cancelled':
      return 'It was stopped.';
    case 'timeout':
      return 'Its time limit was reached, so Slurm ended it.';
    case 'out_of_memory':
      return 'It used more memory than it had asked for, so Slurm ended it.';
    case 'node_failed':
      return `The node ${session.node ?? 'it ran on'} failed.`;
    default:
      return 'It ended with an error; the log below may say which.';
  }
}

export const plural = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`;

export function memoryText(gb: number): string {
  return gb < 1 ? `${Math.round(gb * 1024)} MB` : `${Number(gb.toFixed(1))} GB`;
}

export function gpuText(resources: Pick<SomeResources, 'gpus' | 'gpu_type'>): string {
  if (!resources.gpus) return 'no GPU';
  const type = resources.gpu_type ? ` ${resources.gpu_type}` : '';
  return `${resources.gpus}${type} GPU${resources.gpus === 1 ? '' : 's'}`;
}

/** "1 v100 GPU", "2 CPUs", "4 GB", "4 h": what was asked for, in the order people think of it. */
export function resourceTexts(resources: SomeResources): string[] {
  const nodes = resources.nodes ?? 1;
  const each = nodes > 1 ? ' each' : '';
  const texts = nodes > 1 ? [plural(nodes, 'node')] : [];
  texts.push(
    `${gpuText(resources)}${resources.gpus ? each : ''}`,
    `${plural(resources.cpus ?? 1, 'CPU')}${each}`,
  );
  if (resources.memory_gb) texts.push(`${memoryText(resources.memory_gb)}${each}`);
  if (resources.time_limit_minutes) texts.push(minutesAsTime(resources.time_limit_minutes));
  return texts;
}
