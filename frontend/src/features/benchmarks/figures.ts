/** Figures of runs and of the cluster, side by side: columns, rows, and what can be drawn. Pure. */
import { plural, t } from '@lingui/core/macro';
import { locale } from '@/i18n';
import { joinWithCommas } from '@/i18n/lists';
import { translateExact } from '@/i18n/translate';
import { localTime } from '@/lib/time';
import type { BenchmarkRun, ClusterFigure, Labels } from './queries';

export interface Column {
  key: string;
  /** of the whole cluster, or one's own run */
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

function gpusText({ gpus, gpu_type }: Pick<BenchmarkRun, 'gpu_type' | 'gpus'>): string {
  if (gpus === 0) return t`no GPU`;
  const type = gpu_type ?? t`GPU of unknown type`;
  return gpus === 1 ? type : t`${gpus} × ${type}`;
}

/** "v100", "2 × v100", "4 × v100 on 2 nodes", "no GPU". */
export function hardwareText(on: Pick<BenchmarkRun, 'gpu_type' | 'gpus' | 'nodes'>): string {
  const hardware = gpusText(on);
  return on.nodes > 1 ? t`${hardware} on ${{ nodes: on.nodes }} nodes` : hardware;
}

/** What can be shown of a benchmark: its measures, each with a unit. */
export function measuresOf(
  runs: readonly BenchmarkRun[],
  cluster: readonly ClusterFigure[],
): Map<string, { unit: string; better: 'higher' | 'lower' }> {
  const all = [...runs.flatMap(({ figures }) => figures), ...cluster];
  return new Map(all.map(({ measure, unit, better }) => [measure, { unit, better }]));
}

/** The cluster's medians, one column for each sort of hardware. */
export function clusterColumns(figures: readonly ClusterFigure[], measure: string): Column[] {
  const found = new Map<string, ClusterFigure[]>();
  for (const figure of figures.filter((one) => one.measure === measure)) {
    const key = `${figure.gpu_type}/${figure.gpus}/${figure.nodes}`;
    found.set(key, [...(found.get(key) ?? []), figure]);
  }
  return [...found].map(([key, same]) => {
    const [first] = same;
    const runs = Math.max(...same.map((one) => one.runs));
    const users = Math.max(...same.map((one) => one.users));
    return {
      key,
      kind: 'cluster',
      name: first ? hardwareText(first) : '',
      detail: medianText(runs, users),
      values: new Map(same.map((one) => [keyOf(one.labels), one.median])),
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
  const figures = run.figures.filter((one) => one.measure === measure);
  const hardware = hardwareText(run);
  const where = run.node ? t`${hardware} on ${{ node: run.node }}` : hardware;
  return {
    key: run.id,
    kind: 'run',
    name: run.name,
    detail: t`${where}, ${{ time: localTime(run.ended_at, nowMs) }}`,
    values: new Map(figures.map((one) => [keyOf(one.labels), one.value])),
  };
}

type Label = Labels[string];

const rank = (value: Label): number => (typeof value === 'string' ? 1 : 0);

function compare(a: Label, b: Label): number {
  if (typeof a === 'string' && typeof b === 'string') return 0; // as the template has them
  return rank(a) - rank(b) || Number(a) - Number(b);
}

/** Everything that was measured, once: words in the order in which they came, numbers by size. */
export function linesOf(all: readonly Labels[]): Line[] {
  const found = new Map(all.map((labels) => [keyOf(labels), labels]));
  const uses = new Map<Label, number>();
  for (const labels of all)
    for (const value of Object.values(labels))
      if (typeof value === 'string' && !uses.has(value)) uses.set(value, uses.size);
  const names = namesOf(all);
  const order = (a: Labels, b: Labels): number => {
    for (const name of names) {
      const [left = 0, right = 0] = [a[name], b[name]];
      const difference = compare(left, right) || (uses.get(left) ?? 0) - (uses.get(right) ?? 0);
      if (difference !== 0) return difference;
    }
    return 0;
  };
  return [...found]
    .map(([key, labels]) => ({ key, labels }))
    .sort((a, b) => order(a.labels, b.labels));
}

/** The labels' names, in the order in which they first appear. */
export function namesOf(all: readonly Labels[]): string[] {
  return [...new Set(all.flatMap((labels) => Object.keys(labels)))];
}

/** The labels that distinguish the rows; for a single row, all labels. */
export function variedOf(lines: readonly Line[]): string[] {
  const names = namesOf(lines.map(({ labels }) => labels));
  const varied = names.filter((name) => new Set(lines.map(({ labels }) => labels[name])).size > 1);
  return varied.length > 0 ? varied : names;
}

/** The parameters that are equal in all rows: "tf32 no, image_size 224"; empty if there are none. */
export function sameText(lines: readonly Line[]): string {
  const varied = variedOf(lines);
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

/** A figure as one reads it: four digits that mean something. */
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
  /** what the horizontal axis counts; null: there is one place only, so bars say it better */
  axis: string | null;
  lines: Line[];
}

const isSize = (value: Label | undefined): value is number => typeof value === 'number';

/** The label along which one draws: the number of which there are the most different ones. */
export function axisOf(lines: readonly Line[]): string | null {
  let best: string | null = null;
  let most = 1;
  for (const name of namesOf(lines.map(({ labels }) => labels))) {
    const values = new Set(lines.map(({ labels }) => labels[name]).filter(isSize));
    if (values.size > most) [best, most] = [name, values.size];
  }
  return best;
}

/** One picture for each combination of the other labels. */
export function facetsOf(lines: readonly Line[]): Facet[] {
  const axis = axisOf(lines);
  const names = namesOf(lines.map(({ labels }) => labels));
  const varied = names.filter(
    (name) => name !== axis && new Set(lines.map(({ labels }) => labels[name])).size > 1,
  );
  if (axis === null) return [{ title: '', axis, lines: [...lines] }];
  const found = new Map<string, Line[]>();
  for (const line of lines) {
    const title = joinWithCommas(varied.map((name) => namedText(name, line.labels[name])));
    found.set(title, [...(found.get(title) ?? []), line]);
  }
  return [...found].map(([title, same]) => ({ title, axis, lines: same }));
}

/** A word speaks for itself; a number or a flag wants its name. */
export const namedText = (name: string, value: Label | undefined): string =>
  typeof value === 'string' ? translateExact(value) : `${name} ${labelText(value)}`;

/** The benchmark to show first: that of the newest run, else any with runs, else the first. */
export function firstTemplate(
  names: readonly string[],
  runs: readonly BenchmarkRun[],
  cluster: readonly ClusterFigure[],
): string | undefined {
  const wanted = [...runs.slice(0, 1), ...cluster].map(({ template }) => template);
  return wanted.find((name) => names.includes(name)) ?? names[0];
}
