/** What someone uses now against what they may use. Pure. */
import { t } from '@lingui/core/macro';
import { memoryText } from '@/lib/resourceLabels';
import type { EffectiveValue, Usage } from './types';

export interface Bar {
  key: string;
  label: string;
  /** "2 of 4", "2, no limit" */
  text: string;
  /** 0 to 1; null without a limit or if the usage is unknown */
  share: number | null;
  full: boolean;
  limited: boolean;
  /** what is used */
  known: boolean;
  from: EffectiveValue['from'];
}

const KINDS = [
  ['gpus', t`GPUs`, (n: number) => String(n)],
  ['cpus', t`CPUs`, (n: number) => String(n)],
  ['memory_gb', t`Memory`, (n: number) => (n === 0 ? '0 GB' : memoryText(n))],
  ['sessions', t`Sessions`, (n: number) => String(n)],
  ['jobs', t`Jobs`, (n: number) => String(n)],
] as const;

function bar(
  key: string,
  label: string,
  text: (n: number) => string,
  used: number | null | undefined,
  limit: EffectiveValue | undefined,
): Bar {
  const most = typeof limit?.value === 'number' ? limit.value : null;
  const from = limit?.from ?? null;
  const known = used ?? undefined;
  const now = known === undefined ? null : text(known);
  if (most === null)
    return {
      key,
      label,
      text: now === null ? t`not known, no limit` : t`${now} in use, no limit`,
      share: null,
      full: false,
      limited: false,
      known: used !== null && used !== undefined,
      from,
    };
  const share = known === undefined ? null : most === 0 ? 1 : Math.min(1, known / most);
  const full = known !== undefined && known >= most;
  const limited = text(most);
  const whole = now === null ? t`not known, ${limited} at most` : t`${now} of ${limited}`;
  return { key, label, text: whole, share, full, limited: true, known: known !== undefined, from };
}

/** A bar for each kind; GPUs of a type follow GPUs, where a type is limited or used. */
export function bars(effective: Partial<Record<string, EffectiveValue>>, use: Usage | null): Bar[] {
  return KINDS.flatMap(([key, label, text]) => {
    const one = bar(key, label, text, use?.[key], effective[key]);
    return key === 'gpus' ? [one, ...typeBars(effective.gpus_by_type, use)] : [one];
  });
}

function typeBars(limit: EffectiveValue | undefined, use: Usage | null): Bar[] {
  const most = (limit?.value ?? {}) as Record<string, number>;
  const used = use?.gpus_by_type ?? {};
  const types = [...new Set([...Object.keys(most), ...Object.keys(used)])].sort();
  return types.map((type) =>
    bar(
      `gpus_by_type.${type}`,
      t`${type} GPUs`,
      String,
      use?.gpus_by_type ? (used[type] ?? 0) : undefined,
      most[type] === undefined ? undefined : { value: most[type], from: limit?.from ?? null },
    ),
  );
}
