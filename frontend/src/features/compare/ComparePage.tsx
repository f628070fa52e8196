import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Checkbox, Paper, Skeleton, VisuallyHidden } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { errorMessage } from '@/api/problem';
import type { Job } from '@/api/types';
import { jobReason, jobStateLabel } from '@/features/jobs/labels';
import { templatesQuery } from '@/features/jobs/queries';
import { ComparedMetrics } from '@/features/metrics/ComparedMetrics';
import { ParallelChart } from '@/features/metrics/ParallelChart';
import type { SweepRun } from '@/features/metrics/parallel';
import { TensorboardLink } from '@/features/tensorboard/TensorboardLink';
import { translate, translateExact } from '@/i18n/translate';
import { useLive } from '@/live/store';
import { Notice } from '@/ui/Notice';
import { PageTitle } from '@/ui/PageTitle';
import { ScrollBox } from '@/ui/ScrollBox';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { TryAgain } from '@/ui/TryAgain';
import classes from './Compare.module.css';
import { compareQuery, type Run } from './queries';
import { type Section, sections, UNKNOWN } from './rows';
import { idsOf } from './search';

/** A comparison of runs: their parameters, usage and results. */
export function ComparePage() {
  const search = useSearch({ from: '/signed-in/jobs/compare' });
  const ids = useMemo(() => idsOf(search.ids), [search.ids]);
  const { data, error, isPending, refetch } = useQuery(compareQuery(ids));
  useRefetchOnRunChange(ids);
  const missing = data?.missing.length ?? 0;
  return (
    <>
      <p className={classes.back}>
        <Link to="/jobs">
          <Trans>Your jobs</Trans>
        </Link>
      </p>
      <PageTitle tab={t`Compare runs`}>{t`Compare runs`}</PageTitle>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {ids.length === 0 && <Nothing />}
      {ids.length > 0 && isPending && !error && (
        <Skeleton height={420} radius="lg" aria-label={t`Loading`} />
      )}
      {missing > 0 && (
        <Notice tone="info">
          {plural(missing, {
            one: 'One of these runs is no longer on your list, so it is left out.',
            other: '# of these runs are no longer on your list, so they are left out.',
          })}
        </Notice>
      )}
      {data && <Runs runs={data.items} all={search.all === true} />}
    </>
  );
}

/** Refetch when one of the runs changes. After its end, all of its values are known. */
function useRefetchOnRunChange(ids: string[]): void {
  const client = useQueryClient();
  const states = useLive((s) =>
    s.jobs
      ?.filter(({ id }) => ids.includes(id))
      .map(({ id, state, usage }) => `${id}${state}${usage?.elapsed_s}`)
      .sort()
      .join(),
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of a run's state is the reason to refetch
  useEffect(() => {
    void client.invalidateQueries({ queryKey: compareQuery(ids).queryKey });
  }, [client, ids, states]);
}

function Nothing() {
  return (
    <Paper className={classes.none}>
      <p>
        <Trans>
          In the list of jobs, check the boxes next to two to eight names, then select “Compare” to
          see the jobs side by side.
        </Trans>
      </p>
      <Button component={Link} to="/jobs" variant="default">
        <Trans>Go to jobs</Trans>
      </Button>
    </Paper>
  );
}

function Runs({ runs, all }: { runs: Run[]; all: boolean }) {
  const navigate = useNavigate();
  const templates = useQuery(templatesQuery);
  const titles = useMemo(
    () => new Map(templates.data?.map(({ name, title }) => [name, translateExact(title)])),
    [templates.data],
  );
  const comparison = useMemo(() => sections(runs, titles, all), [runs, titles, all]);
  const problem = runs.find((run) => run.metrics_problem !== null)?.metrics_problem;
  const navigateTo = (ids: string[], showsAll: boolean): void => {
    const search = { ids: ids.join(), ...(showsAll && { all: true as const }) };
    void navigate({ to: '/jobs/compare', search, replace: true });
  };
  const ids = runs.map(({ job }) => job.id);
  return (
    <>
      <div className={classes.choices}>
        <Checkbox
          label={t`Show identical rows`}
          checked={all}
          onChange={(event) => navigateTo(ids, event.currentTarget.checked)}
        />
      </div>
      {problem && <Notice tone="warning">{translate(problem)}</Notice>}
      <ScrollBox label={t`Runs side by side`} height="80vh">
        <table className={classes.table}>
          <thead>
            <tr>
              <td />
              {runs.map(({ job }) => (
                <ColumnHeader
                  key={job.id}
                  job={job}
                  onRemove={
                    runs.length > 1
                      ? () =>
                          navigateTo(
                            ids.filter((id) => id !== job.id),
                            all,
                          )
                      : undefined
                  }
                />
              ))}
            </tr>
          </thead>
          {comparison.map((section) => (
            <Rows key={section.kind} section={section} runs={runs} />
          ))}
        </table>
      </ScrollBox>
      <Notes runs={runs} sections={comparison} />
      <Metrics runs={runs} />
    </>
  );
}

function ColumnHeader({ job, onRemove }: { job: Job; onRemove: (() => void) | undefined }) {
  const { name } = job;
  const reason = jobReason(job);
  const hasTensorboard =
    job.started_at !== null && (job.logdir !== null || job.tensorboard !== null);
  return (
    <th scope="col">
      <div className={classes.head}>
        <Link to="/jobs/$id" params={{ id: job.id }} className={classes.name}>
          {job.name}
        </Link>
        <span>
          <StateChip {...jobStateLabel(job)} />
        </span>
        <span className={classes.quiet}>
          <Time at={job.submitted_at} relative />
        </span>
        {reason && <span className={classes.quiet}>{reason}</span>}
        <span className={classes.acts}>
          {hasTensorboard && <TensorboardLink id={job.id} kind="jobs" variant="subtle" />}
          {onRemove && (
            <Button variant="subtle" color="gray" px="xs" onClick={onRemove}>
              <Trans>
                Remove<VisuallyHidden component="span"> {name}</VisuallyHidden>
              </Trans>
            </Button>
          )}
        </span>
      </div>
    </th>
  );
}

function Rows({ section, runs }: { section: Section; runs: Run[] }) {
  return (
    <tbody>
      <tr>
        <th scope="rowgroup" colSpan={runs.length + 1} className={classes.section}>
          <span>{section.title}</span>
        </th>
      </tr>
      {section.rows.map(({ label, texts, differs, numeric }) => (
        <tr key={label} data-differs={differs}>
          <th scope="row">{label}</th>
          {runs.map(({ job }, index) => (
            <td
              key={job.id}
              className={numeric ? classes.number : undefined}
              data-unknown={texts[index] === UNKNOWN}
            >
              {texts[index]}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  );
}

/** The curves of the runs' metrics, and their last values against the parameters. */
function Metrics({ runs }: { runs: Run[] }) {
  const jobs = useMemo(() => runs.map(({ job }) => job), [runs]);
  const sweep = useMemo(() => runs.map(toSweepRun), [runs]);
  return (
    <section aria-labelledby="metrics" className={classes.metrics}>
      <h2 id="metrics">
        <Trans>Metrics</Trans>
      </h2>
      <ComparedMetrics jobs={jobs} />
      <ParallelChart title={t`Parameters and metrics of the runs`} runs={sweep} />
    </section>
  );
}

const toSweepRun = ({ job, metrics }: Run): SweepRun => ({
  key: job.id,
  label: job.name,
  parameters: job.parameters,
  metrics,
});

/** Explanations that the table has no room for. */
function Notes({ runs, sections }: { runs: Run[]; sections: Section[] }) {
  const arrays = runs.filter(({ job }) => job.array !== null);
  const nothingLogged = !sections.some(({ kind }) => kind === 'logged');
  const sameParameters = !sections.some(({ kind }) => kind === 'parameters');
  return (
    <div className={classes.notes}>
      {sameParameters && <p>{t`They have the same parameters, or none.`}</p>}
      {nothingLogged && <p>{t`None of them has logged a value for TensorBoard.`}</p>}
      {arrays.length > 0 && (
        <p>
          <Trans>
            The values that the tasks of an array have logged are on the array's own page.
          </Trans>
        </p>
      )}
    </div>
  );
}
