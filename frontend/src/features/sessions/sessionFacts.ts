/** A session's properties, as labels and values. Pure. */
import { t } from '@lingui/core/macro';
import type { Session } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { gpuRequestText, nodeCountText } from '@/lib/resourceLabels';
import { memoryText } from '@/lib/sizes';
import { minutesAsTime } from '@/lib/time';

export interface Fact {
  label: string;
  value: string;
  /** whether the value is a time */
  time?: true;
  /** whether the value is shown as code */
  code?: true;
}

function fact(label: string, value: string | number | null | undefined): Fact[] {
  return value === null || value === undefined ? [] : [{ label, value: String(value) }];
}

export function resourceFacts({ resources, environment_title }: Session): Fact[] {
  return [
    ...fact(t`Environment`, translateExact(environment_title)),
    ...fact(t`GPUs`, resources.gpus > 0 ? gpuRequestText(resources) : t`none`),
    ...fact(t`CPUs`, resources.cpus),
    ...fact(
      t`Memory`,
      resources.memory_gb === null ? t`cluster default` : memoryText(resources.memory_gb),
    ),
    ...fact(
      t`Time`,
      resources.time_limit_minutes === null ? null : minutesAsTime(resources.time_limit_minutes),
    ),
  ];
}

export function placeFacts(session: Session): Fact[] {
  const { partition, account, qos, nodes } = session.resources;
  return [
    ...fact(t`Node`, session.node ?? (nodes > 1 ? nodeCountText(nodes) : null)),
    ...fact(t`Partition`, partition),
    ...fact(t`Slurm account`, account),
    ...fact(t`QOS`, qos),
    ...fact(t`Slurm job`, session.job_id),
    { label: t`TensorBoard folder`, value: session.logdir, code: true },
  ];
}

export function timelineFacts(session: Session): Fact[] {
  const times: [string, string | null][] = [
    [t({ message: 'Submitted', context: 'when' }), session.submitted_at],
    [t({ message: 'Started', context: 'when' }), session.started_at],
    [t`Ready`, session.ready_at],
    [t({ message: 'Ended', context: 'when' }), session.ended_at],
    [session.state === 'ended' ? t`Time limit at` : t`Ends at`, session.expires_at],
  ];
  return times.flatMap(([label, at]) => (at === null ? [] : [{ label, value: at, time: true }]));
}
