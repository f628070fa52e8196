/**
 * Checks a request against the user's limits while they type. Pure; the portal decides in the end.
 */
import { plural, t } from '@lingui/core/macro';
import type { MyLimits, UserLimits } from '@/api/types';
import { joinWithCommas } from '@/i18n/lists';
import { translate } from '@/i18n/translate';
import { cpusText, gpusText, gpuText, memoryText } from '@/lib/resourceLabels';
import { minutesAsTime } from '@/lib/time';
import type { Draft, Problems } from './check';

type Limits = Pick<UserLimits, 'effective' | 'use'>;

const most = (limits: Limits, field: string): number | null => {
  const value = limits.effective[field]?.value;
  return typeof value === 'number' ? value : null;
};

const over = (asked: number | null, limit: number | null): limit is number =>
  asked !== null && limit !== null && asked > limit;

const fewer = (limit: string): string => t`Your limit is ${limit} at once. Request fewer.`;

/** What of a request could never be had under these limits, whatever is free. */
export function limitProblems(draft: Draft, limits: Limits | undefined): Problems {
  if (limits === undefined) return {};
  const problems: Problems = {};
  const gpus = most(limits, 'gpus');
  const cpus = most(limits, 'cpus');
  const memory = most(limits, 'memory_gb');
  const minutes = most(limits, 'time_limit_minutes');
  if (over(draft.gpus, gpus)) problems.gpus = fewer(gpusText(gpus));
  if (over(draft.cpus, cpus)) problems.cpus = fewer(cpusText(cpus));
  if (over(draft.memory_gb, memory))
    problems.memory_gb = t`Your limit is ${{ memory: memoryText(memory) }} at once. Request less.`;
  if (over(draft.time_limit_minutes, minutes))
    problems.time_limit_minutes = t`Your sessions can run for at most ${{ time: minutesAsTime(minutes) }}.`;
  const partitions = limits.effective.partitions?.value;
  if (draft.partition && Array.isArray(partitions) && !partitions.includes(draft.partition))
    problems.partition = t`You may use these partitions: ${{ partitions: joinWithCommas(partitions) }}.`;
  return { ...problems, ...typeProblem(draft, limits) };
}

/** A type that the limit doesn't name isn't limited by it. */
function typeProblem({ gpus, gpu_type: type }: Draft, { effective }: Limits): Problems {
  const byType = effective.gpus_by_type?.value;
  if (!gpus || type === null || typeof byType !== 'object' || byType === null) return {};
  const limit = (byType as Record<string, number>)[type];
  if (limit === undefined || gpus <= limit) return {};
  return limit === 0
    ? { gpu_type: t`You can't use ${type} GPUs. Choose another type.` }
    : { gpus: fewer(gpuText({ gpus: limit, gpu_type: type })) };
}

/** Return why no further session can be started now; null if one can, or if that is unknown. */
export function noRoomForSession(
  limits: (Limits & Partial<Pick<MyLimits, 'problem'>>) | undefined,
): string | null {
  if (limits?.problem) return translate(limits.problem);
  const limit = limits === undefined ? null : most(limits, 'sessions');
  const used = limits?.use?.sessions ?? null;
  if (limit === null || used === null || used < limit) return null;
  return limit === 0
    ? t`Your limit allows no sessions. Ask your administrators.`
    : t`You already have ${plural(used, { one: '# session', other: '# sessions' })}, which is your limit. Stop one to start another.`;
}
