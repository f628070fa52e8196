/** Measured usage of sessions and jobs as charts, with sentences. Pure. */
import { t } from '@lingui/core/macro';
import type { components } from '@/api/schema';
import {
  alignTables,
  anyKnown,
  breakGaps,
  type Threshold,
  type TimeSeries,
  type Value,
} from '@/ui/plot/series';
import { busyCpusText, CPUS, MEMORY, PERCENT, type PlotUnit } from '@/ui/plot/units';

const MB_PER_GB = 1024;
/** Points further apart than this many steps are not connected. */
const GAP_STEPS = 2.5;
/** With more GPUs than this on several nodes, each node has charts of its own. */
const MAX_LINES = 4;

type GpuUse = components['schemas']['GpuUse'];

/** Columns of one node's measurements, with a value for each time in `at`. */
export interface NodeUsage {
  /** null if the usage is that of a single node */
  node: string | null;
  step_s: number | null;
  at: number[];
  memory_mb: (number | null)[];
  cpus: (number | null)[];
  memory_limit_mb: number | null;
  gpus: GpuUse[] | null;
}

export interface UsageChart {
  key: string;
  title: string;
  unit: PlotUnit;
  /** the largest possible value, if it is known */
  top?: number | undefined;
  threshold?: Threshold | undefined;
  at: readonly number[];
  series: TimeSeries[];
  /** the figures as a sentence */
  text: string;
}

/** Resources requested on each node. */
export interface NodeRequest {
  cpus: number;
  memory_gb: number | null;
}

interface Column {
  label: string;
  node: NodeUsage;
  values: (number | null)[];
}

const known = (values: readonly Value[]): number[] =>
  values.filter((value) => value !== null && value !== undefined);

const highest = (columns: readonly Column[]): number =>
  columns.reduce((most, { values }) => known(values).reduce((a, b) => Math.max(a, b), most), 0);

/** Return the columns' last values, as far as they are known. */
const latest = (columns: readonly Column[]): number[] =>
  known(columns.map(({ values }) => values.at(-1)));

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

function linesOf(columns: readonly Column[]): Pick<UsageChart, 'at' | 'series'> {
  const tables = columns.map(({ node, values }) =>
    breakGaps({ at: node.at, columns: [values] }, GAP_STEPS * (node.step_s ?? 1)),
  );
  const { at, columns: aligned } = alignTables(tables);
  return {
    at,
    series: columns.map(({ label }, index) => ({ label, values: aligned[index] ?? [] })),
  };
}

/** Return the charts that have data; unmeasured quantities have none. While the job runs, the last
 * values are the current ones. */
export function usageCharts(
  nodes: readonly NodeUsage[],
  requested: NodeRequest,
  isRunning: boolean,
): UsageChart[] {
  return [
    memoryChart(nodes, requested, isRunning),
    cpuChart(nodes, requested, isRunning),
    ...gpuCharts(nodes, isRunning),
  ].filter((chart) => chart !== null);
}

function memoryChart(
  nodes: readonly NodeUsage[],
  requested: NodeRequest,
  isRunning: boolean,
): UsageChart | null {
  const columns = nodes
    .map((node) => ({ label: node.node ?? t`Memory`, node, values: node.memory_mb }))
    .filter(({ values }) => anyKnown(values));
  if (columns.length === 0) return null;
  const limits = known(columns.map(({ node }) => node.memory_limit_mb));
  const asked = requested.memory_gb ? requested.memory_gb * MB_PER_GB : null;
  const limit = limits.length > 0 ? Math.min(...limits) : asked;
  const now = isRunning ? latest(columns) : [];
  return {
    key: 'memory',
    title: t`Memory`,
    unit: MEMORY,
    threshold:
      limit === null ? undefined : { value: limit, label: t`Limit: ${MEMORY.text(limit)}` },
    ...linesOf(columns),
    text: memorySentence(now, highest(columns), limit, columns.length),
  };
}

function memorySentence(
  now: readonly number[],
  peak: number,
  limit: number | null,
  nodes: number,
): string {
  const most = MEMORY.text(peak);
  const of = limit === null ? null : MEMORY.text(limit);
  if (now.length === 0) return of === null ? t`Peak: ${most}.` : t`Peak: ${most} of ${of}.`;
  const text = MEMORY.text(Math.max(...now));
  if (nodes > 1)
    return of === null
      ? t`${text} used on the fullest node now; peak ${most}.`
      : t`${text} of ${of} used on the fullest node now; peak ${most}.`;
  return of === null
    ? t`${text} used now; peak ${most}.`
    : t`${text} of ${of} used now; peak ${most}.`;
}

function cpuChart(
  nodes: readonly NodeUsage[],
  { cpus }: NodeRequest,
  isRunning: boolean,
): UsageChart | null {
  const columns = nodes
    .map((node) => ({ label: node.node ?? t`CPUs`, node, values: node.cpus }))
    .filter(({ values }) => anyKnown(values));
  if (columns.length === 0) return null;
  const average = busyCpusText(mean(columns.map(({ values }) => mean(known(values)))));
  const now = isRunning ? latest(columns) : [];
  return {
    key: 'cpus',
    title: t`CPUs`,
    unit: CPUS,
    top: cpus,
    ...linesOf(columns),
    text: cpuSentence(now, average, cpus, columns.length),
  };
}

function cpuSentence(now: readonly number[], average: string, cpus: number, nodes: number): string {
  const busy = busyCpusText(mean(now));
  if (nodes > 1)
    return now.length > 0
      ? t`${busy} of ${cpus} busy on each node now; ${average} on average.`
      : t`${average} of ${cpus} busy on each node on average.`;
  return now.length > 0
    ? t`${busy} of ${cpus} busy now; ${average} on average.`
    : t`${average} of ${cpus} busy on average.`;
}

/** Return one chart of all GPUs for each quantity, or one for each node if there are many GPUs. */
function gpuCharts(nodes: readonly NodeUsage[], isRunning: boolean): (UsageChart | null)[] {
  const count = nodes.reduce((sum, { gpus }) => sum + (gpus?.length ?? 0), 0);
  const groups = nodes.length > 1 && count > MAX_LINES ? nodes.map((node) => [node]) : [nodes];
  return groups.flatMap((group) => {
    const nodeName = groups.length > 1 ? (group[0]?.node ?? null) : null;
    return [
      gpuChart(
        nodeName,
        nodeName ? t`GPU utilization on ${nodeName}` : t`GPU utilization`,
        'use_percent',
        group,
        isRunning,
      ),
      gpuChart(
        nodeName,
        nodeName ? t`GPU memory on ${nodeName}` : t`GPU memory`,
        'memory_mb',
        group,
        isRunning,
      ),
    ];
  });
}

function gpuChart(
  nodeName: string | null,
  title: string,
  quantity: 'use_percent' | 'memory_mb',
  nodes: readonly NodeUsage[],
  isRunning: boolean,
): UsageChart | null {
  const columns = nodes.flatMap((node) =>
    (node.gpus ?? []).map((gpu, index) => ({
      label: gpuLabel(node, index, nodes.length > 1),
      node,
      values: gpu[quantity],
    })),
  );
  if (!columns.some(({ values }) => anyKnown(values))) return null;
  const unit = quantity === 'use_percent' ? PERCENT : MEMORY;
  const totals = known(nodes.flatMap(({ gpus }) => (gpus ?? []).map((gpu) => gpu.memory_total_mb)));
  const top = quantity === 'use_percent' ? 100 : Math.max(0, ...totals);
  return {
    key: `${quantity}-${nodeName ?? ''}`,
    title,
    unit,
    top: top > 0 ? top : undefined,
    ...linesOf(columns),
    text: gpuSentence(isRunning ? latest(columns) : [], highest(columns), unit, columns.length),
  };
}

function gpuLabel({ node, gpus }: NodeUsage, index: number, severalNodes: boolean): string {
  const gpu = (gpus ?? []).length > 1 ? t`GPU ${{ number: index + 1 }}` : t`GPU`;
  return severalNodes && node !== null ? `${node} ${gpu}` : gpu;
}

function gpuSentence(now: readonly number[], peak: number, unit: PlotUnit, lines: number): string {
  const most = unit.text(peak);
  if (now.length === 0) return t`Peak: ${most}.`;
  const text = unit.text(Math.max(...now));
  return lines > 1
    ? t`${text} on the busiest one now; peak ${most}.`
    : t`${text} now; peak ${most}.`;
}

/** Explain each missing chart, if there are others. `gpus` is the number that was requested. */
export function missingChartTexts(nodes: readonly NodeUsage[], gpus: number): string[] {
  const points = Math.max(0, ...nodes.map(({ at }) => at.length));
  const sentences: string[] = [];
  if (points > 0 && !nodes.some((node) => anyKnown(node.memory_mb)))
    sentences.push(t`Memory usage can't be measured on this node.`);
  if (points > 1 && !nodes.some((node) => anyKnown(node.cpus)))
    sentences.push(t`CPU usage can't be measured on this node.`);
  if (points > 0 && gpus > 0 && !nodes.some((node) => node.gpus !== null))
    sentences.push(t`GPU usage unknown: nvidia-smi isn't available on this node.`);
  return sentences;
}
