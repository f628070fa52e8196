/** The table of a comparison: what runs have in common, and how they differ. Pure. */
import { t } from '@lingui/core/macro';
import type { Job, ResolvedResources } from '@/api/types';
import { parameterText } from '@/features/jobs/labels';
import { joinWithCommas } from '@/i18n/lists';
import { translateExact } from '@/i18n/translate';
import { gpuRequestText } from '@/lib/resourceLabels';
import { memoryText } from '@/lib/sizes';
import { duration, minutesAsTime } from '@/lib/time';
import { metricText } from '@/ui/metricText';
import type { Run } from './queries';

export const UNKNOWN = '–';

export interface Row {
  label: string;
  /** one for each run */
  texts: string[];
  differs: boolean;
  /** whether to align the texts as numbers */
  numeric: boolean;
}

export interface Section {
  kind: 'parameters' | 'logged' | 'used' | 'requested' | 'placement';
  title: string;
  rows: Row[];
}

function row(label: string, texts: (string | null | undefined)[], numeric = false): Row {
  const displayed = texts.map((text) => text || UNKNOWN);
  return { label, texts: displayed, differs: new Set(displayed).size > 1, numeric };
}

const hasKnownValue = ({ texts }: Row): boolean => texts.some((text) => text !== UNKNOWN);

/** Format a number that accounting or the request may lack. */
const formatOptional = (
  value: number | null | undefined,
  format: (value: number) => string,
): string | null => (value == null ? null : format(value));

const between = (from: string | null, to: string | null): string | null =>
  from === null || to === null ? null : duration(Date.parse(to) - Date.parse(from));

/** Return the names that the runs have, in order of first appearance. */
function namesOf(all: (object | null | undefined)[]): string[] {
  return [...new Set(all.flatMap((item) => Object.keys(item ?? {})))];
}

function parameterRows(jobs: Job[]): Row[] {
  return namesOf(jobs.map((job) => job.parameters)).map((name) =>
    row(
      name,
      jobs.map((job) =>
        Object.hasOwn(job.parameters, name) ? parameterText(job.parameters[name]) : null,
      ),
    ),
  );
}

function metricRows(runs: Run[]): Row[] {
  return namesOf(runs.map(({ metrics }) => metrics)).map((name) =>
    row(
      name,
      runs.map(({ metrics }) =>
        metrics && Object.hasOwn(metrics, name) ? metricText(metrics[name]) : null,
      ),
      true,
    ),
  );
}

function requestedRows(jobs: Job[]): Row[] {
  const toRow = (
    label: string,
    format: (requested: ResolvedResources) => string | null | undefined,
  ): Row =>
    row(
      label,
      jobs.map(({ resources }) => format(resources)),
    );
  return [
    toRow(t`Partition`, ({ partition }) => partition),
    toRow(t`Nodes`, ({ nodes }) => formatOptional(nodes, String)),
    toRow(t`GPUs`, (resources) => (resources.gpus ? gpuRequestText(resources) : t`none`)),
    toRow(t`CPUs`, ({ cpus }) => formatOptional(cpus, String)),
    toRow(t`Memory`, ({ memory_gb: memory }) => formatOptional(memory, memoryText)),
    toRow(t`Time limit`, ({ time_limit_minutes: minutes }) =>
      formatOptional(minutes, minutesAsTime),
    ),
    toRow(t`Slurm account`, ({ account }) => account),
    toRow(t`QOS`, ({ qos }) => qos),
  ];
}

function usageRows(jobs: Job[]): Row[] {
  const toRow = (label: string, format: (job: Job) => string | null): Row =>
    row(label, jobs.map(format), true);
  return [
    toRow(t`Waited`, (job) => between(job.submitted_at, job.started_at)),
    toRow(t`Ran`, (job) => between(job.started_at, job.ended_at)),
    toRow(t`Share of the time limit`, shareOfLimit),
    toRow(t`CPU utilization`, ({ usage }) => formatOptional(usage?.cpu_efficiency, percent)),
    toRow(t`Peak memory`, ({ usage }) =>
      usage?.memory_too_short
        ? t`too short to measure`
        : formatOptional(usage?.max_rss_gb, memoryText),
    ),
    toRow(t`Share of the requested memory`, shareOfMemory),
  ];
}

const percent = (share: number): string => t`${{ percent: Math.round(share * 100) }} %`;

function shareOfLimit({ started_at, ended_at, resources }: Job): string | null {
  const minutes = resources.time_limit_minutes;
  if (started_at === null || ended_at === null || !minutes) return null;
  return percent((Date.parse(ended_at) - Date.parse(started_at)) / (minutes * 60_000));
}

function shareOfMemory({ usage, resources }: Job): string | null {
  const { memory_gb: requested } = resources;
  return usage?.max_rss_gb == null || !requested ? null : percent(usage.max_rss_gb / requested);
}

function placementRows(jobs: Job[], titles: ReadonlyMap<string, string>): Row[] {
  const nodes = ({ node, nodes }: Job): string | null => joinWithCommas(nodes) || node;
  return [
    row(
      t`Template`,
      jobs.map(({ template }) =>
        template === null ? t`none` : (titles.get(template) ?? template),
      ),
    ),
    row(
      t`Environment`,
      jobs.map((job) => translateExact(job.environment_title)),
    ),
    row(t`Node`, jobs.map(nodes)),
    row(
      t`Exit code`,
      jobs.map((job) => formatOptional(job.exit_code, String)),
    ),
  ];
}

/** Return the table's sections. Without `all`, only rows that differ, except for logged values and
 * usage. */
export function sections(
  runs: Run[],
  titles: ReadonlyMap<string, string>,
  all: boolean,
): Section[] {
  const jobs = runs.map(({ job }) => job);
  const differing = (rows: Row[]): Row[] =>
    rows.filter((row) => hasKnownValue(row) && (all || row.differs));
  const candidates = [
    { kind: 'parameters', title: t`Parameters`, rows: differing(parameterRows(jobs)) },
    { kind: 'logged', title: t`Last values`, rows: metricRows(runs).filter(hasKnownValue) },
    {
      kind: 'used',
      title: t({ message: 'Used', context: 'by runs' }),
      rows: usageRows(jobs).filter(hasKnownValue),
    },
    { kind: 'requested', title: t`Requested`, rows: differing(requestedRows(jobs)) },
    { kind: 'placement', title: t`Where it ran`, rows: differing(placementRows(jobs, titles)) },
  ] satisfies Section[];
  return candidates.filter(({ rows }) => rows.length > 0);
}
