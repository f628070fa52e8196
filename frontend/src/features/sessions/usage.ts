/** What a session uses, as lines to draw and as sentences. Pure. */
import { t } from '@lingui/core/macro';
import type { Session } from '@/api/types';
import { clock } from '@/lib/clock';
import { memoryText } from '@/lib/resourceLabels';
import { duration, localTime } from '@/lib/time';
import type { SessionUsage, Total } from './types';

const MB_PER_GB = 1024;
/** Usage reported longer ago than this, while the session runs, is stale. */
const OLD_MS = 120_000;

export type Unit = 'memory' | 'cpus' | 'percent';

export interface Line {
  label: string;
  values: (number | null)[];
}

export interface Chart {
  key: string;
  title: string;
  unit: Unit;
  /** the top of the scale: what there is, or the most that was used where that isn't known */
  most: number;
  lines: Line[];
  /** the figures in a sentence */
  text: string;
}

type Asked = Pick<Session['resources'], 'cpus' | 'memory_gb' | 'gpus'>;

const knownValues = (values: readonly (number | null)[]): number[] =>
  values.filter((value) => value !== null);

const last = (values: readonly (number | null)[]): number | null => values.at(-1) ?? null;

const highest = (values: readonly (number | null)[]): number => Math.max(0, ...knownValues(values));

/** "0.5", "12", "less than 0.1": CPUs that were busy. */
export function cpusText(cpus: number): string {
  if (cpus > 0 && cpus < 0.05) return t`less than 0.1`;
  return cpus < 9.95 ? String(Number(cpus.toFixed(1))) : String(Math.round(cpus));
}

export function valueText(value: number, unit: Unit): string {
  switch (unit) {
    case 'memory':
      return memoryText(value / MB_PER_GB);
    case 'cpus':
      return cpusText(value);
    case 'percent':
      return `${Math.round(value)} %`;
  }
}

/** When it was measured; `seconds` since 1970. */
export const timeText = (seconds: number): string =>
  localTime(new Date(seconds * 1000).toISOString(), clock.now());

/** As `valueText`, for a scale: nothing is nothing of any unit. */
export const axisText = (value: number, unit: Unit): string =>
  value === 0 ? '0' : valueText(value, unit);

/** The charts that have data; unmeasured values have none. */
export function charts(use: SessionUsage, asked: Asked, live: boolean): Chart[] {
  return [
    memoryChart(use, asked, live),
    cpuChart(use, asked, live),
    ...gpuCharts(use, live),
  ].filter((chart) => chart !== null);
}

function memoryChart(use: SessionUsage, asked: Asked, live: boolean): Chart | null {
  const values = use.memory_mb;
  if (knownValues(values).length === 0) return null;
  const limit = use.memory_limit_mb ?? (asked.memory_gb ? asked.memory_gb * MB_PER_GB : null);
  const peak = highest(values);
  return {
    key: 'memory',
    title: t`Memory`,
    unit: 'memory',
    most: Math.max(limit ?? 0, peak * (limit === null ? 1.2 : 1), 1),
    lines: [{ label: t`Memory`, values }],
    text: memorySentence(live ? last(values) : null, peak, limit),
  };
}

function memorySentence(now: number | null, peak: number, limit: number | null): string {
  const most = valueText(peak, 'memory');
  const limitText = limit === null ? null : valueText(limit, 'memory');
  if (now === null)
    return limitText
      ? t`At most ${most} of ${{ of: limitText }} were used.`
      : t`At most ${most} were used.`;
  const text = valueText(now, 'memory');
  return limitText
    ? t`${text} of ${{ of: limitText }} used now; peak ${most}.`
    : t`${text} used now; peak ${most}.`;
}

function cpuChart(use: SessionUsage, asked: Asked, live: boolean): Chart | null {
  const values = use.cpus;
  const measured = knownValues(values);
  if (measured.length === 0) return null;
  const now = live ? last(values) : null;
  const busy = now === null ? null : cpusText(now);
  const { cpus } = asked;
  const mean = cpusText(measured.reduce((sum, value) => sum + value, 0) / measured.length);
  return {
    key: 'cpus',
    title: t`CPUs`,
    unit: 'cpus',
    most: Math.max(cpus, highest(values)),
    lines: [{ label: t`CPUs`, values }],
    text:
      busy !== null
        ? t`${busy} of ${cpus} busy now; ${mean} on average.`
        : t`${mean} of ${cpus} busy on average.`,
  };
}

function gpuCharts(use: SessionUsage, live: boolean): (Chart | null)[] {
  const gpus = use.gpus ?? [];
  const label = (index: number): string =>
    gpus.length > 1 ? t`GPU ${{ number: index + 1 }}` : t`GPU`;
  const busy = gpus.map((gpu, index) => ({ label: label(index), values: gpu.use_percent }));
  const memory = gpus.map((gpu, index) => ({ label: label(index), values: gpu.memory_mb }));
  const total = Math.max(0, ...gpus.map((gpu) => gpu.memory_total_mb ?? 0));
  return [
    gpuChart('gpu', t`GPU use`, 'percent', busy, 100, live),
    gpuChart('gpu-memory', t`GPU memory`, 'memory', memory, total, live),
  ];
}

function gpuChart(
  key: string,
  title: string,
  unit: Unit,
  lines: Line[],
  most: number,
  live: boolean,
): Chart | null {
  const all = lines.flatMap((line) => line.values);
  if (knownValues(all).length === 0) return null;
  const peak = highest(all);
  const now = knownValues(lines.map((line) => last(line.values)));
  const highestNow = live && now.length > 0 ? valueText(Math.max(...now), unit) : null;
  const top = most > 0 ? most : Math.max(1, peak * 1.2);
  return { key, title, unit, most: top, lines, text: gpuSentence(highestNow, peak, unit, lines) };
}

function gpuSentence(now: string | null, peak: number, unit: Unit, lines: Line[]): string {
  const most = valueText(peak, unit);
  if (now === null) return t`Peak: ${most}.`;
  return lines.length > 1
    ? t`${now} on the busiest one now; peak ${most}.`
    : t`${now} now; peak ${most}.`;
}

/** Why there is no chart of something, where there is one of something else. */
export function missingText(use: SessionUsage, gpus: number): string[] {
  const measured = use.at.length > 0;
  const sentences: string[] = [];
  if (measured && knownValues(use.memory_mb).length === 0)
    sentences.push(t`Memory usage can’t be measured on this node.`);
  if (use.at.length > 1 && knownValues(use.cpus).length === 0)
    sentences.push(t`CPU usage can’t be measured on this node.`);
  if (measured && gpus > 0 && use.gpus === null)
    sentences.push(t`GPU usage unknown: nvidia-smi isn’t available on this node.`);
  return sentences;
}

/** What there is to say where nothing is drawn yet, or where it is old. */
export function remark(
  use: SessionUsage,
  session: Pick<Session, 'state'>,
  nowMs: number,
): string | null {
  const ended = session.state === 'ended';
  if (use.at.length === 0) {
    if (ended) return t`No usage was measured while it ran.`;
    return t`The first measurements appear half a minute after JupyterLab starts.`;
  }
  const age = use.reported_at === null ? 0 : nowMs - Date.parse(use.reported_at);
  if (session.state === 'running' && age > OLD_MS)
    return t`No new data from its node for ${{ time: duration(age) }}.`;
  return null;
}

/** What Slurm's accounting says after the end, by its labels; what it doesn't say is absent. */
export function totals(total: Total, asked: Asked): [label: string, value: string][] {
  const found: [string, string][] = [];
  if (total.elapsed_s != null) found.push([t`Time`, duration(total.elapsed_s * 1000)]);
  if (total.memory_too_short) found.push([t`Peak memory`, t`too short to measure`]);
  else if (total.max_rss_gb != null) {
    const most = memoryText(total.max_rss_gb);
    found.push([
      t`Peak memory`,
      asked.memory_gb ? t`${most} of ${{ asked: memoryText(asked.memory_gb) }}` : most,
    ]);
  }
  if (total.cpu_s != null) found.push([t`CPU time`, duration(total.cpu_s * 1000)]);
  if (total.cpu_efficiency != null)
    found.push([t`CPUs in use`, `${Math.round(total.cpu_efficiency * 100)} %`]);
  return found;
}

/** The points of a chart as rows of a table: not more than one can read. */
export function rows(
  at: readonly number[],
  chart: Chart,
  most = 30,
): [at: number, texts: string[]][] {
  const step = Math.max(1, Math.ceil(at.length / most));
  return at
    .map((time, index): [number, string[]] => [
      time,
      chart.lines.map(({ values }) => {
        const value = values[index] ?? null;
        return value === null ? '–' : valueText(value, chart.unit);
      }),
    ])
    .filter((_, index) => (at.length - 1 - index) % step === 0);
}
