import { plural, t } from '@lingui/core/macro';
import { MultiSelect, Select } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { type CSSProperties, useMemo, useState } from 'react';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { ChartFigure } from '@/ui/plot/ChartFigure';
import plotClasses from '@/ui/plot/Plot.module.css';
import { ScrollBox } from '@/ui/ScrollBox';
import classes from './Metrics.module.css';
import {
  type Axis,
  defaultNames,
  MAX_AXES,
  metricAxis,
  metricNames,
  parameterAxes,
  rankedRuns,
  type SweepRun,
  varyingNames,
} from './parallel';

const HEIGHT_PX = 260;
const TOP_PX = 34;
const BOTTOM_PX = 14;
const SIDE_PX = 60;
const AXIS_PX = 130;
const LONGEST_LABEL = 16;
/** More lines than this are slow to draw and hard to distinguish. */
const MAX_RUNS = 500;
const MAX_ROWS = 50;
const MAX_OPTIONS = 50;

interface Props {
  title: string;
  /** must be the same object until it changes */
  runs: readonly SweepRun[];
}

/** Runs as lines across axes, one for each chosen parameter and one for a metric; null without a
 * parameter that varies or a metric that at least two runs have. */
export function ParallelChart({ title, runs }: Props) {
  const metrics = useMemo(() => metricNames(runs), [runs]);
  const varying = useMemo(() => varyingNames(runs), [runs]);
  const [chosenMetric, setMetric] = useState<string | null>(null);
  const [chosenNames, setNames] = useState<string[] | null>(null);
  const metric = metrics.find((name) => name === chosenMetric) ?? metrics[0];
  const names = (chosenNames ?? defaultNames(varying)).filter((name) => varying.includes(name));
  if (metric === undefined || varying.length === 0) return null;
  return (
    <div className={classes.section}>
      <div className={classes.axes}>
        <MultiSelect
          label={t`Parameters`}
          data={varying.map((name) => ({ value: name, label: escapeInvisible(name) }))}
          value={names}
          onChange={setNames}
          maxValues={MAX_AXES}
          limit={MAX_OPTIONS}
          searchable
        />
        <Select
          label={t`Metric`}
          data={metrics.map((name) => ({ value: name, label: escapeInvisible(name) }))}
          value={metric}
          onChange={setMetric}
          limit={MAX_OPTIONS}
          searchable
          allowDeselect={false}
        />
      </div>
      <Figure title={title} runs={runs} names={names} metric={metric} />
    </div>
  );
}

interface FigureProps extends Props {
  names: readonly string[];
  metric: string;
}

function Figure({ title, runs, names, metric }: FigureProps) {
  const ranked = rankedRuns(runs, metric);
  const shown = ranked.slice(0, MAX_RUNS);
  const axes = [...parameterAxes(shown, names), metricAxis(shown, metric)];
  const [chosenKey, setChosenKey] = useState<string | null>(null);
  const chosen = shown.findIndex(({ key }) => key === chosenKey);
  const choose = (index: number): void => setChosenKey(shown[index]?.key ?? null);
  return (
    <ChartFigure
      title={title}
      text={omittedRunsText(runs.length, ranked.length, shown.length)}
      heightPx={HEIGHT_PX}
      plot={<Lines axes={axes} count={shown.length} chosen={chosen} onChoose={choose} />}
      legend={
        <RunChoice runs={shown} axes={axes} metric={metric} chosen={chosen} onChoose={choose} />
      }
      table={
        <div className={plotClasses.wide}>
          <RunTable runs={shown.slice(0, MAX_ROWS)} axes={axes} />
        </div>
      }
    />
  );
}

/** Return what the chart leaves out. */
function omittedRunsText(all: number, withMetric: number, shown: number): string | undefined {
  if (shown < withMetric)
    return t`The ${shown} runs with the smallest values, of ${{ total: withMetric }}.`;
  const missing = all - withMetric;
  if (missing === 0) return undefined;
  return plural(missing, {
    one: '# run has no value of this metric.',
    other: '# runs have no value of this metric.',
  });
}

interface LinesProps {
  axes: readonly Axis[];
  count: number;
  /** the index of the highlighted run; -1 for none */
  chosen: number;
  onChoose: (index: number) => void;
}

function Lines({ axes, count, chosen, onChoose }: LinesProps) {
  const { ref, width: available } = useElementSize<HTMLElement>();
  const width = Math.max(available, axes.length * AXIS_PX);
  const x = (index: number): number =>
    axes.length < 2 ? width / 2 : SIDE_PX + (index * (width - 2 * SIDE_PX)) / (axes.length - 1);
  const y = (share: number): number =>
    HEIGHT_PX - BOTTOM_PX - share * (HEIGHT_PX - TOP_PX - BOTTOM_PX);
  const path = (run: number): string => pathOf(axes, run, x, y);
  return (
    <ScrollBox ref={ref} label={t`Lines of the runs`} height="60vh">
      <svg className={classes.parallel} width={width} height={HEIGHT_PX} aria-hidden="true">
        {Array.from({ length: count }, (_, run) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines are ordered by the metric
          <g key={run} onPointerEnter={() => onChoose(run)}>
            <path
              className={classes.run}
              d={path(run)}
              style={rankStyle(run, count)}
              data-faded={chosen >= 0 && chosen !== run}
            />
            <path className={classes.hit} d={path(run)} />
          </g>
        ))}
        {chosen >= 0 && (
          <path
            className={classes.run}
            d={path(chosen)}
            style={rankStyle(chosen, count)}
            data-chosen
            pointerEvents="none"
          />
        )}
        {axes.map((axis, index) => (
          <AxisLine key={axis.name} axis={axis} x={x(index)} y={y} />
        ))}
      </svg>
    </ScrollBox>
  );
}

/** Return a run's line; it is interrupted at an axis without a value. */
function pathOf(
  axes: readonly Axis[],
  run: number,
  x: (index: number) => number,
  y: (share: number) => number,
): string {
  let isBroken = true;
  return axes
    .map(({ shares }, index) => {
      const share = shares[run] ?? null;
      if (share === null) {
        isBroken = true;
        return '';
      }
      const command = isBroken ? 'M' : 'L';
      isBroken = false;
      return `${command}${x(index).toFixed(1)},${y(share).toFixed(1)}`;
    })
    .join('');
}

/** Return the style of a rank, whose color goes from the smallest to the largest value. */
const rankStyle = (rank: number, count: number): CSSProperties =>
  ({ '--rank': `${Math.round((100 * rank) / Math.max(1, count - 1))}%` }) as CSSProperties;

const cut = (text: string): string =>
  text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1)}…` : text;

function AxisLine({ axis, x, y }: { axis: Axis; x: number; y: (share: number) => number }) {
  const name = escapeInvisible(axis.name);
  return (
    <g>
      <line className={classes.axisLine} x1={x} x2={x} y1={y(0)} y2={y(1)} />
      <text className={classes.axisName} x={x} y={14} textAnchor="middle">
        <title>{name}</title>
        {cut(name)}
      </text>
      {axis.ticks.map(({ text, share }) => (
        <text key={share} x={x - 6} y={y(share) + 4} textAnchor="end">
          <title>{text}</title>
          {cut(text)}
        </text>
      ))}
    </g>
  );
}

interface ChoiceProps {
  runs: readonly SweepRun[];
  axes: readonly Axis[];
  metric: string;
  chosen: number;
  onChoose: (index: number) => void;
}

/** Highlights a run by keyboard, ordered by the metric, and shows its values. */
function RunChoice({ runs, axes, metric, chosen, onChoose }: ChoiceProps) {
  const index = Math.max(0, chosen);
  const run = runs[index];
  if (run === undefined) return null;
  const label = escapeInvisible(run.label);
  const values = axes
    .map(({ name, texts }) => `${escapeInvisible(name)} ${texts[index]}`)
    .join(', ');
  return (
    <>
      <label className={classes.choice}>
        {t`Highlight a run, ordered by ${{ metric: escapeInvisible(metric) }}`}
        <input
          type="range"
          min={0}
          max={runs.length - 1}
          value={index}
          onChange={(event) => onChoose(Number(event.currentTarget.value))}
          aria-valuetext={`${label}: ${values}`}
        />
      </label>
      {chosen >= 0 && (
        <p className={classes.chosen}>
          <b>{label}</b>: {values}
        </p>
      )}
    </>
  );
}

function RunTable({ runs, axes }: { runs: readonly SweepRun[]; axes: readonly Axis[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t`Run`}</th>
          {axes.map(({ name }) => (
            <th scope="col" key={name}>
              {escapeInvisible(name)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {runs.map(({ key, label }, run) => (
          <tr key={key}>
            <th scope="row">{escapeInvisible(label)}</th>
            {axes.map(({ name, texts }) => (
              <td key={name}>{texts[run]}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
