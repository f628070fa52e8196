/** What is known of a session, as labels and values. Pure. */
import type { Session } from '@/api/types';
import { gpuText, memoryText, plural } from '@/features/sessions/words';
import { minutesAsTime } from '@/lib/time';

export interface Fact {
  label: string;
  value: string;
  /** a moment rather than a text */
  time?: true;
  code?: true;
}

function fact(label: string, value: string | number | null | undefined): Fact[] {
  return value === null || value === undefined ? [] : [{ label, value: String(value) }];
}

export function resourceFacts({ resources, environment_title }: Session): Fact[] {
  return [
    ...fact('Environment', environment_title),
    ...fact('GPUs', resources.gpus > 0 ? gpuText(resources) : 'none'),
    ...fact('CPUs', resources.cpus),
    ...fact(
      'Memory',
      resources.memory_gb === null ? 'as the cluster gives' : memoryText(resources.memory_gb),
    ),
    ...fact(
      'Time',
      resources.time_limit_minutes === null ? null : minutesAsTime(resources.time_limit_minutes),
    ),
  ];
}

export function placeFacts(session: Session): Fact[] {
  const { partition, account, qos, nodes } = session.resources;
  return [
    ...fact('Node', session.node ?? (nodes > 1 ? plural(nodes, 'node') : null)),
    ...fact('Partition', partition),
    ...fact('Account', account),
    ...fact('QOS', qos),
    ...fact('Slurm job', session.job_id),
    { label: 'Logs to', value: session.logdir, code: true },
  ];
}

export function courseFacts(session: Session): Fact[] {
  const times: [string, string | null][] = [
    ['Submitted', session.submitted_at],
    ['Started', session.started_at],
    ['Was ready', session.ready_at],
    ['Ended', session.ended_at],
    [session.state === 'ended' ? 'Limit was' : 'Ends by', session.expires_at],
  ];
  return times.flatMap(([label, at]) => (at === null ? [] : [{ label, value: at, time: true }]));
}
