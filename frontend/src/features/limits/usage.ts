/** Usage bars: current usage in relation to the effective limits. Pure. */
import { t } from '@lingui/core/macro';
import { memoryText } from '@/lib/sizes';
import type { EffectiveValue, Usage } from './types';

export interface Bar {
  key: string;
  label: string;
  /** as in "2 of 4" or "2 in use, no limit" */
  text: string;
  /** 0 to 1; null without a limit or if the usage is unknown */
  share: number | null;
  full: boolean;
  limited: boolean;
  /** whether the usage is known */
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
  const maximum = typeof limit?.value === 'number' ? limit.value : null;
  const from = limit?.from ?? null;
  const known = used ?? undefined;
  const current = known === undefined ? null : text(known);
  if (maximum === null)
    return {
      key,
      label,
      text: current === null ? t`–, no limit` : t`${current} in use, no limit`,
      share: null,
      full: false,
      limited: false,
      known: used !== null && used !== undefined,
      from,
    };
  const share = known === undefined ? null : maximum === 0 ? 1 : Math.min(1, known / maximum);
  const full = known !== undefined && known >= maximum;
  const allowed = text(maximum);
  const limitedText = current === null ? t`– of ${allowed}` : t`${current} of ${allowed}`;
  return {
    key,
    label,
    text: limitedText,
    share,
    full,
    limited: true,
    known: known !== undefined,
    from,
  };
}

/** Return a bar for each kind; GPU types that are limited or used follow GPUs. */
export function bars(effective: Partial<Record<string, EffectiveValue>>, use: Usage | null): Bar[] {
  return KINDS.flatMap(([key, label, text]) => {
    const kindBar = bar(key, label, text, use?.[key], effective[key]);
    return key === 'gpus' ? [kindBar, ...typeBars(effective.gpus_by_type, use)] : [kindBar];
  });
}

function typeBars(limit: EffectiveValue | undefined, use: Usage | null): Bar[] {
  const maximum = (limit?.value ?? {}) as Record<string, number>;
  const used = use?.gpus_by_type ?? {};
  const types = [...new Set([...Object.keys(maximum), ...Object.keys(used)])].sort();
  return types.map((type) =>
    bar(
      `gpus_by_type.${type}`,
      t`${type} GPUs`,
      String,
      use?.gpus_by_type ? (used[type] ?? 0) : undefined,
      maximum[type] === undefined ? undefined : { value: maximum[type], from: limit?.from ?? null },
    ),
  );
}
