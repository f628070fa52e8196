import { plural, t } from '@lingui/core/macro';
import { Button, Checkbox, SegmentedControl, TextInput } from '@mantine/core';
import { useDeferredValue, useId, useMemo, useState } from 'react';
import { CurveChart } from '@/ui/plot/CurveChart';
import plotClasses from '@/ui/plot/Plot.module.css';
import {
  type CurveSettings,
  matchingTags,
  metricCharts,
  type NamedCurves,
  tagsOf,
  usesSteps,
} from './curves';
import { METRIC, STEP_AXIS, TIME_AXIS } from './labels';
import classes from './Metrics.module.css';

/** With more charts than this, they can be searched, and the rest is shown on request. */
const MANY = 8;
const MAX_SMOOTHING = 0.99;

/** A chart of each tag, with common settings and a common cursor. `jobs` must be the same object
 * until it changes. */
export function MetricCharts({ jobs }: { jobs: readonly NamedCurves[] }) {
  const [chosenX, setX] = useState<CurveSettings['x'] | null>(null);
  const [smoothing, setSmoothing] = useState(0);
  const [logarithmic, setLogarithmic] = useState(false);
  const [text, setText] = useState('');
  const [all, setAll] = useState(false);
  const syncKey = useId();
  const tags = useMemo(() => tagsOf(jobs), [jobs]);
  const x = chosenX ?? (usesSteps(jobs.flatMap(({ curves }) => curves)) ? 'step' : 'time');
  const deferredSmoothing = useDeferredValue(smoothing);
  const matching = useMemo(() => matchingTags(tags, text), [tags, text]);
  const charts = useMemo(
    () =>
      metricCharts(jobs, all ? matching : matching.slice(0, MANY), {
        x,
        smoothing: deferredSmoothing,
        logarithmic,
      }),
    [jobs, matching, all, x, deferredSmoothing, logarithmic],
  );
  const rest = matching.length - charts.length;
  return (
    <div className={plotClasses.group}>
      <div className={classes.settings}>
        <SegmentedControl
          size="xs"
          aria-label={t`Horizontal axis`}
          data={[
            { value: 'step', label: t`By step` },
            { value: 'time', label: t`By time` },
          ]}
          value={x}
          onChange={(value) => setX(value === 'time' ? 'time' : 'step')}
        />
        <Smoothing value={smoothing} onChange={setSmoothing} />
        <Checkbox
          label={t`Logarithmic scale`}
          checked={logarithmic}
          onChange={(event) => setLogarithmic(event.currentTarget.checked)}
        />
        {tags.length > MANY && (
          <TextInput
            size="xs"
            type="search"
            aria-label={t`Find a metric`}
            placeholder={t`Find a metric`}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        )}
      </div>
      {matching.length === 0 && <p className={classes.note}>{t`No matching metrics.`}</p>}
      <div className={plotClasses.charts}>
        {charts.map(({ tag, ...chart }) => (
          <CurveChart
            key={tag}
            {...chart}
            axis={x === 'step' ? STEP_AXIS : TIME_AXIS}
            unit={METRIC}
            logarithmic={logarithmic}
            syncKey={syncKey}
          />
        ))}
      </div>
      {rest > 0 && (
        <Button variant="default" onClick={() => setAll(true)}>
          {plural(rest, { one: 'Show # more metric', other: 'Show # more metrics' })}
        </Button>
      )}
    </div>
  );
}

function Smoothing({ value, onChange }: { value: number; onChange: (value: number) => void }) {
  return (
    <label className={classes.choice}>
      {t`Smoothing`}
      <input
        type="range"
        min={0}
        max={MAX_SMOOTHING}
        step={0.01}
        value={value}
        onChange={(event) => onChange(Number(event.currentTarget.value))}
      />
      <span className={classes.number} aria-hidden="true">
        {value.toFixed(2)}
      </span>
    </label>
  );
}
