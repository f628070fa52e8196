import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, NativeSelect, Paper, Skeleton } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { Template } from '@/api/types';
import { templatesQuery } from '@/features/jobs/queries';
import { joinSentences } from '@/i18n/lists';
import { translateExact } from '@/i18n/translate';
import { clock } from '@/lib/clock';
import { refetchFailed } from '@/lib/queries';
import { Icon } from '@/ui/icons';
import { PageTitle } from '@/ui/PageTitle';
import { MAX_MARKS } from '@/ui/plot/marks';
import { TryAgain } from '@/ui/TryAgain';
import { BenchmarkPlots } from './BenchmarkPlots';
import classes from './Benchmarks.module.css';
import { FiguresTable } from './FiguresTable';
import { clusterColumns, firstTemplate, measuresOf, runColumn, sameText, toLines } from './figures';
import { type BenchmarkRun, type ClusterFigure, clusterFiguresQuery, runsQuery } from './queries';

const DRAWN_AT_FIRST = 6;

/** Benchmark results: the user's runs beside each other and beside the cluster's figures. */
export function BenchmarksPage() {
  const search = useSearch({ from: '/signed-in/benchmarks' });
  const templates = useQuery(templatesQuery);
  const cluster = useQuery(clusterFiguresQuery);
  const newest = useInfiniteQuery(runsQuery());
  const error = templates.error ?? cluster.error ?? newest.error;
  const benchmarks = templates.data?.filter(({ tags }) => tags.includes('benchmark')) ?? [];
  const loaded = templates.data && cluster.data && newest.data;
  const runs = newest.data?.pages.flatMap((page) => page.items) ?? [];
  const names = benchmarks.map(({ name }) => name);
  const chosen = search.template ?? firstTemplate(names, runs, cluster.data ?? []);
  return (
    <>
      <p className={classes.back}>
        <Link to="/jobs">
          <Trans>Your jobs</Trans>
        </Link>
      </p>
      <PageTitle tab={t`Benchmarks`}>{t`Benchmarks`}</PageTitle>
      <p className={classes.lead}>
        <Trans>
          A benchmark is a job that measures the performance of the hardware. Its results are kept
          here, so that you can compare your runs with each other and with the runs of other users
          on this cluster.
        </Trans>
      </p>
      {error && (
        <TryAgain
          error={errorMessage(error)}
          onRetry={() => refetchFailed(templates, cluster, newest)}
        />
      )}
      {!error && !loaded && <Skeleton height={420} radius="lg" aria-label={t`Loading`} />}
      {loaded && chosen === undefined && (
        <Paper className={classes.none}>
          <Trans>This site has no benchmarks among its templates.</Trans>
        </Paper>
      )}
      {loaded && chosen !== undefined && (
        <Benchmark
          key={chosen}
          name={chosen}
          templates={benchmarks}
          selected={search.measure}
          cluster={cluster.data.filter(({ template }) => template === chosen)}
        />
      )}
    </>
  );
}

interface Props {
  name: string;
  templates: Template[];
  selected: string | undefined;
  cluster: ClusterFigure[];
}

function Benchmark({ name, templates, selected, cluster }: Props) {
  const navigate = useNavigate();
  const query = useInfiniteQuery(runsQuery(name));
  const template = templates.find((other) => other.name === name);
  const runs = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const measures = useMemo(() => measuresOf(runs, cluster), [runs, cluster]);
  const measure = selected && measures.has(selected) ? selected : [...measures.keys()][0];
  const about = measure === undefined ? undefined : measures.get(measure);
  const go = (search: { template: string; measure?: string }): void => {
    void navigate({ to: '/benchmarks', search, replace: true });
  };
  return (
    <>
      <div className={classes.choices}>
        <NativeSelect
          label={t`Benchmark`}
          value={name}
          onChange={(event) => go({ template: event.currentTarget.value })}
        >
          {template === undefined && <option value={name}>{name}</option>}
          {templates.map((choice) => (
            <option key={choice.name} value={choice.name}>
              {translateExact(choice.title)}
            </option>
          ))}
        </NativeSelect>
        {measures.size > 1 && (
          <NativeSelect
            label={t`Metric`}
            value={measure}
            onChange={(event) => go({ template: name, measure: event.currentTarget.value })}
            data={[...measures.keys()].map((value) => ({ value, label: translateExact(value) }))}
          />
        )}
        {template && (
          <Button
            component={Link}
            to={`/jobs/new?template=${name}`}
            leftSection={<Icon name="play" />}
          >
            <Trans>Run benchmark</Trans>
          </Button>
        )}
      </div>
      {template && <p className={classes.lead}>{translateExact(template.description)}</p>}
      {query.error && (
        <TryAgain error={errorMessage(query.error)} onRetry={() => void query.refetch()} />
      )}
      {query.isPending && <Skeleton height={320} radius="lg" aria-label={t`Loading`} />}
      {query.data && measure === undefined && <Nothing runs={runs} />}
      {measure !== undefined && about && (
        <Figures key={measure} {...{ measure, runs, cluster }} {...about} />
      )}
      {query.hasNextPage && (
        <Button
          variant="default"
          mt="md"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          <Trans>Show older runs</Trans>
        </Button>
      )}
    </>
  );
}

function Nothing({ runs }: { runs: BenchmarkRun[] }) {
  return (
    <Paper className={classes.none}>
      {runs.length === 0
        ? t`There are no results for this benchmark yet. When one of your runs ends, its results appear here.`
        : t`Your runs of this benchmark left no readable results. Their logs show what happened.`}
    </Paper>
  );
}

/** Return a measure's title with its unit, unless its name contains it. */
function titleText(measure: string, unit: string): string {
  const name = translateExact(measure);
  return measure.includes(unit) ? name : t`${name}, in ${unit}`;
}

interface FiguresProps {
  measure: string;
  unit: string;
  better: 'higher' | 'lower';
  runs: BenchmarkRun[];
  cluster: ClusterFigure[];
}

function Figures({ measure, unit, better, runs, cluster }: FiguresProps) {
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const columns = useMemo(
    () =>
      [
        ...clusterColumns(cluster, measure),
        ...runs.map((run) => runColumn(run, measure, clock.now())),
      ].filter(({ values }) => values.size > 0),
    [runs, cluster, measure],
  );
  const lines = useMemo(() => {
    const all = [...runs.flatMap(({ figures }) => figures), ...cluster];
    return toLines(all.filter((figure) => figure.measure === measure).map(({ labels }) => labels));
  }, [runs, cluster, measure]);
  const drawn = useMemo(() => {
    const drawn = columns.filter(({ key }, index) => toggled.get(key) ?? index < DRAWN_AT_FIRST);
    return drawn.slice(0, MAX_MARKS);
  }, [columns, toggled]);
  const marks = useMemo(() => drawn.map((_, index) => index), [drawn]);
  const markOf = (key: string): number | null => {
    const index = drawn.findIndex((column) => column.key === key);
    return index < 0 ? null : index;
  };
  const title = titleText(measure, unit);
  const same = sameText(lines);
  const direction = better === 'higher' ? t`Higher is better.` : t`Lower is better.`;
  return (
    <>
      <h2 className={classes.heading}>
        {title}
        <span className={classes.detail}>
          {' '}
          {joinSentences(same ? [direction, t`In all rows: ${same}.`] : [direction])}
        </span>
      </h2>
      <BenchmarkPlots lines={lines} columns={drawn} marks={marks} unit={unit} />
      <FiguresTable
        lines={lines}
        columns={columns}
        marks={columns.map(({ key }) => markOf(key))}
        better={better}
        title={title}
        onToggle={(key) => setToggled(new Map(toggled).set(key, markOf(key) === null))}
      />
      <p className={classes.note}>
        {cluster.length > 0
          ? t`Columns without a job name combine the runs of all users on the same hardware in the last year, each user counted once. The jobs report these results themselves; they are not verified.`
          : t`The hardware is as reported by Slurm. The results are measured by the jobs themselves.`}
      </p>
    </>
  );
}
