/** Figures of runs and of the cluster: columns, rows, and chart data. Pure. */
import { plural, t } from '@lingui/core/macro';
import { locale } from '@/i18n';
import { joinWithCommas } from '@/i18n/lists';
import { translateExact } from '@/i18n/translate';
import { localTime } from '@/lib/time';
import type { BenchmarkRun, ClusterFigure, Labels } from './queries';

export interface Column {
  key: string;
  /** the whole cluster's, or one of the user's runs */
  kind: 'cluster' | 'run';
  name: string;
  detail: string;
  /** by the labels' key */
  values: ReadonlyMap<string, number>;
}

export interface Line {
  key: string;
  labels: Labels;
}

export const keyOf = (labels: Labels): string =>
  JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));

function gpuTypeText({ gpus, gpu_type }: Pick<BenchmarkRun, 'gpu_type' | 'gpus'>): string {
  if (gpus === 0) return t`no GPU`;
  const type = gpu_type ?? t`GPU of unknown type`;
  return gpus === 1 ? type : t`${gpus} × ${type}`;
}

/** Describe the hardware: "v100", "2 × v100", "4 × v100 on 2 nodes", "no GPU". */
export function hardwareText(on: Pick<BenchmarkRun, 'gpu_type' | 'gpus' | 'nodes'>): string {
  const hardware = gpuTypeText(on);
  return on.nodes > 1 ? t`${hardware} on ${{ nodes: on.nodes }} nodes` : hardware;
}

/** Return a benchmark's measures, each with its unit. */
export function measuresOf(
  runs: readonly BenchmarkRun[],
  cluster: readonly ClusterFigure[],
): Map<string, { unit: string; better: 'higher' | 'lower' }> {
  const all = [...runs.flatMap(({ figures }) => figures), ...cluster];
  return new Map(all.map(({ measure, unit, better }) => [measure, { unit, better }]));
}

/** Return the cluster's medians, one column for each kind of hardware. */
export function clusterColumns(figures: readonly ClusterFigure[], measure: string): Column[] {
  const groups = new Map<string, ClusterFigure[]>();
  for (const figure of figures.filter((other) => other.measure === measure)) {
    const key = `${figure.gpu_type}/${figure.gpus}/${figure.nodes}`;
    groups.set(key, [...(groups.get(key) ?? []), figure]);
  }
  return [...groups].map(([key, same]) => {
    const [first] = same;
    const runs = Math.max(...same.map((figure) => figure.runs));
    const users = Math.max(...same.map((figure) => figure.users));
    return {
      key,
      kind: 'cluster',
      name: first ? hardwareText(first) : '',
      detail: medianText(runs, users),
      values: new Map(same.map((figure) => [keyOf(figure.labels), figure.median])),
    };
  });
}

function medianText(runs: number, users: number): string {
  const ran = plural(runs, { one: '# run', other: '# runs' });
  return plural(users, {
    one: `median of ${ran} by # user`,
    other: `median of ${ran} by # users`,
  });
}

export function runColumn(run: BenchmarkRun, measure: string, nowMs: number): Column {
  const figures = run.figures.filter((figure) => figure.measure === measure);
  const hardware = hardwareText(run);
  const where = run.node ? t`${hardware} on ${{ node: run.node }}` : hardware;
  return {
    key: run.id,
    kind: 'run',
    name: run.name,
    detail: t`${where}, ${{ time: localTime(run.ended_at, nowMs) }}`,
    values: new Map(figures.map((figure) => [keyOf(figure.labels), figure.value])),
  };
}

type Label = Labels[string];

const rank = (value: Label): number => (typeof value === 'string' ? 1 : 0);

function compare(a: Label, b: Label): number {
  if (typeof a === 'string' && typeof b === 'string') return 0; // in the template's order
  return rank(a) - rank(b) || Number(a) - Number(b);
}

/** Return each measured combination of labels once: text in order of appearance, numbers ascending. */
export function toLines(all: readonly Labels[]): Line[] {
  const byKey = new Map(all.map((labels) => [keyOf(labels), labels]));
  const firstSeen = new Map<Label, number>();
  for (const labels of all)
    for (const value of Object.values(labels))
      if (typeof value === 'string' && !firstSeen.has(value)) firstSeen.set(value, firstSeen.size);
  const names = namesOf(all);
  const order = (a: Labels, b: Labels): number => {
    for (const name of names) {
      const [left = 0, right = 0] = [a[name], b[name]];
      const difference =
        compare(left, right) || (firstSeen.get(left) ?? 0) - (firstSeen.get(right) ?? 0);
      if (difference !== 0) return difference;
    }
    return 0;
  };
  return [...byKey]
    .map(([key, labels]) => ({ key, labels }))
    .sort((a, b) => order(a.labels, b.labels));
}

/** Return the labels' names in order of first appearance. */
export function namesOf(all: readonly Labels[]): string[] {
  return [...new Set(all.flatMap((labels) => Object.keys(labels)))];
}

/** Return the labels that distinguish the rows; for a single row, all labels. */
export function distinguishingNames(lines: readonly Line[]): string[] {
  const names = namesOf(lines.map(({ labels }) => labels));
  const varied = names.filter((name) => new Set(lines.map(({ labels }) => labels[name])).size > 1);
  return varied.length > 0 ? varied : names;
}

/** Format the parameters that are equal in all rows: "tf32 no, image_size 224"; empty if there are
 * none. */
export function sameText(lines: readonly Line[]): string {
  const varied = distinguishingNames(lines);
  const [first] = lines;
  if (first === undefined) return '';
  const same = Object.entries(first.labels).filter(([name]) => !varied.includes(name));
  return joinWithCommas(same.map(([name, value]) => namedText(name, value)));
}

export const labelText = (value: Label | undefined): string => {
  if (value === undefined) return '–';
  if (typeof value === 'boolean') return value ? t`yes` : t`no`;
  return typeof value === 'number' ? value.toLocaleString(locale()) : translateExact(value);
};

/** Format a figure with four significant digits. */
export function figureText(value: number): string {
  const digits = Math.abs(value) >= 1000 ? 0 : undefined;
  const rounded = Number(value.toPrecision(4));
  return rounded.toLocaleString(
    locale(),
    digits === 0
      ? { maximumFractionDigits: 0 }
      : {
          maximumSignificantDigits: 4,
        },
  );
}

export interface Facet {
  title: string;
  /** the label on the horizontal axis; null: there is only one position, so draw bars */
  axis: string | null;
  lines: Line[];
}

const isSize = (value: Label | undefined): value is number => typeof value === 'number';

/** Return the label for the horizontal axis: the numeric one with the most distinct values. */
export function axisOf(lines: readonly Line[]): string | null {
  let best: string | null = null;
  let most = 1;
  for (const name of namesOf(lines.map(({ labels }) => labels))) {
    const values = new Set(lines.map(({ labels }) => labels[name]).filter(isSize));
    if (values.size > most) [best, most] = [name, values.size];
  }
  return best;
}

/** Return one chart for each combination of the other labels. */
export function toFacets(lines: readonly Line[]): Facet[] {
  const axis = axisOf(lines);
  const names = namesOf(lines.map(({ labels }) => labels));
  const varied = names.filter(
    (name) => name !== axis && new Set(lines.map(({ labels }) => labels[name])).size > 1,
  );
  if (axis === null) return [{ title: '', axis, lines: [...lines] }];
  const facets = new Map<string, Line[]>();
  for (const line of lines) {
    const title = joinWithCommas(varied.map((name) => namedText(name, line.labels[name])));
    facets.set(title, [...(facets.get(title) ?? []), line]);
  }
  return [...facets].map(([title, same]) => ({ title, axis, lines: same }));
}

/** Format a label's value; numbers and flags are preceded by the name. */
export const namedText = (name: string, value: Label | undefined): string =>
  typeof value === 'string' ? translateExact(value) : `${name} ${labelText(value)}`;

/** Select the benchmark to show first: that of the newest run, else any with runs, else the first. */
export function firstTemplate(
  names: readonly string[],
  runs: readonly BenchmarkRun[],
  cluster: readonly ClusterFigure[],
): string | undefined {
  const candidates = [...runs.slice(0, 1), ...cluster].map(({ template }) => template);
  return candidates.find((name) => names.includes(name)) ?? names[0];
}
