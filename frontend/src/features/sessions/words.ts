/** States and outcomes in the words people use. Pure. */
import { plural, t } from '@lingui/core/macro';
import type { Outcome, Session, SomeResources } from '@/api/types';
import { said } from '@/i18n/said';
import { minutesAsTime } from '@/lib/time';

export type Tone = 'busy' | 'good' | 'waiting' | 'quiet' | 'bad';

export interface StateWords {
  label: string;
  tone: Tone;
}

const OUTCOMES: Record<Outcome, StateWords> = {
  completed: { label: t`Finished`, tone: 'quiet' },
  cancelled: { label: t`Stopped`, tone: 'quiet' },
  failed: { label: t`Failed`, tone: 'bad' },
  timeout: { label: t`Time was up`, tone: 'bad' },
  out_of_memory: { label: t`Out of memory`, tone: 'bad' },
  node_failed: { label: t`Node failed`, tone: 'bad' },
};

export function stateWords(session: Pick<Session, 'state' | 'outcome'>): StateWords {
  switch (session.state) {
    case 'submitting':
      return { label: t`Submitting`, tone: 'busy' };
    case 'queued':
      return { label: t`Queued`, tone: 'waiting' };
    case 'starting':
      return { label: t`Starting`, tone: 'busy' };
    case 'running':
      return { label: t`Running`, tone: 'good' };
    case 'suspended':
      return { label: t`Suspended`, tone: 'waiting' };
    case 'stopping':
      return { label: t`Stopping`, tone: 'busy' };
    case 'ended':
      return session.outcome ? OUTCOMES[session.outcome] : { label: t`Ended`, tone: 'quiet' };
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
  if (session.reason) return said(session.reason);
  switch (session.outcome) {
    case 'completed':
      return t`It came to its end by itself.`;
    case 'cancelled':
      return t`It was stopped.`;
    case 'timeout':
      return t`Its time limit was reached, so Slurm ended it.`;
    case 'out_of_memory':
      return t`It used more memory than it had asked for, so Slurm ended it.`;
    case 'node_failed':
      return session.node === null
        ? t`The node it ran on failed.`
        : t`The node ${{ node: session.node }} failed.`;
    default:
      return t`It ended with an error; the log below may say which.`;
  }
}

export const gpusText = (gpus: number): string => plural(gpus, { one: '# GPU', other: '# GPUs' });

export const cpusText = (cpus: number): string => plural(cpus, { one: '# CPU', other: '# CPUs' });

export const nodesText = (nodes: number): string =>
  plural(nodes, { one: '# node', other: '# nodes' });

export function memoryText(gb: number): string {
  return gb < 1 ? `${Math.round(gb * 1024)} MB` : `${Number(gb.toFixed(1))} GB`;
}

export function gpuText(resources: Pick<SomeResources, 'gpus' | 'gpu_type'>): string {
  const { gpus, gpu_type: type } = resources;
  if (!gpus) return t`no GPU`;
  return type ? plural(gpus, { one: `# ${type} GPU`, other: `# ${type} GPUs` }) : gpusText(gpus);
}

/** "1 v100 GPU", "2 CPUs", "4 GB", "4 h": what was asked for, in the order people think of it. */
export function resourceTexts(resources: SomeResources): string[] {
  const nodes = resources.nodes ?? 1;
  const each = (amount: string): string => (nodes > 1 ? t`${amount} each` : amount);
  const texts = nodes > 1 ? [nodesText(nodes)] : [];
  texts.push(
    resources.gpus ? each(gpuText(resources)) : gpuText(resources),
    each(cpusText(resources.cpus ?? 1)),
  );
  if (resources.memory_gb) texts.push(each(memoryText(resources.memory_gb)));
  if (resources.time_limit_minutes) texts.push(minutesAsTime(resources.time_limit_minutes));
  return texts;
}
