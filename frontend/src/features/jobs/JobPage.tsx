import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { Suspense, useState } from 'react';
import { ApiError, errorMessage } from '@/api/problem';
import type { JobDetail, Task } from '@/api/types';
import { ErrorLine, type FoundLine } from '@/features/log/ErrorLine';
import { Reason } from '@/features/sessions/Reason';
import { sharedText } from '@/features/tensorboard/sharing';
import { TensorboardLine } from '@/features/tensorboard/TensorboardLine';
import { translate } from '@/i18n/translate';
import { FailedPage } from '@/ui/FailedPage';
import { Fold } from '@/ui/Fold';
import { lazyPart } from '@/ui/lazyPart';
import { NotFoundPage } from '@/ui/NotFoundPage';
import { Notice } from '@/ui/Notice';
import head from '@/ui/PageHead.module.css';
import { PageSkeleton } from '@/ui/PageSkeleton';
import { PageTitle } from '@/ui/PageTitle';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { stopJobTensorboard } from './actions';
import { JobActions } from './JobActions';
import { JobFacts } from './JobFacts';
import { JobLog } from './JobLog';
import classes from './JobPage.module.css';
import { JobUsage } from './JobUsage';
import { hasFailed, jobReason, jobStateLabel } from './labels';
import { templatesQuery } from './queries';
import { ScriptText } from './ScriptText';
import { SoonerOptions } from './SoonerOptions';
import { TaskTable } from './TaskTable';
import { TensorboardBox } from './TensorboardBox';
import { Timeline } from './Timeline';
import { useJob } from './useJob';

const FilePreview = lazyPart(
  async () => (await import('@/features/files/FilePreview')).FilePreview,
);
const MetricsSection = lazyPart(async () => (await import('./MetricsSection')).MetricsSection);

/** The page of a job. */
export function JobPage() {
  const { id } = useParams({ from: '/signed-in/jobs/$id' });
  const { job, error, retry } = useJob(id);
  if (error instanceof ApiError && error.status === 404) return <NotFoundPage />;
  if (error)
    return (
      <FailedPage
        back={<BackToJobs />}
        title={t`Job`}
        error={errorMessage(error)}
        onRetry={retry}
      />
    );
  if (job === undefined) return <PageSkeleton />;
  return <Detail key={job.id} job={job} />;
}

function BackToJobs() {
  return (
    <Link to="/jobs" className={head.back}>
      <Trans>← Your jobs</Trans>
    </Link>
  );
}

function Detail({ job }: { job: JobDetail }) {
  const title = useTemplateTitle(job.template);
  const [found, setFound] = useState<FoundLine | null>(null);
  return (
    <>
      <BackToJobs />
      <div className={head.top}>
        <PageTitle tab={job.name}>{job.name}</PageTitle>
        <StateChip {...jobStateLabel(job)} />
      </div>
      <div className={classes.page}>
        <JobStatus job={job} onShow={setFound} />
        <Timeline job={job} />
        {job.array && <TaskTable job={job} array={job.array} />}
        {job.started_at && !job.array && <JobLog id={job.id} found={found} />}
        {job.started_at && job.logdir && !job.external && (
          <Suspense fallback={<Skeleton height={240} radius="lg" />}>
            <MetricsSection job={job} />
          </Suspense>
        )}
        {job.state === 'ended' && job.started_at && job.executed_notebook && (
          <ExecutedNotebook path={job.executed_notebook} />
        )}
        <JobUsage job={job} />
        <JobFacts job={job} title={title} />
        <TensorboardBox job={job} />
        {(job.script ?? job.source) && <Script text={job.script ?? job.source ?? ''} />}
      </div>
    </>
  );
}

/** The job's state with its reason and actions. */
function JobStatus({ job, onShow }: { job: JobDetail; onShow: (found: FoundLine) => void }) {
  const navigate = useNavigate();
  const reason = jobReason(job);
  const others = sharedText(job);
  return (
    <div className={classes.now}>
      {job.stale_since && job.state !== 'ended' && (
        <Notice tone="warning">
          <Trans>
            Last known state: Slurm has not responded since <Time at={job.stale_since} />.
          </Trans>
        </Notice>
      )}
      {reason && <Reason reason={reason} suggestion={job.suggestion} />}
      <SoonerOptions job={job} />
      <ErrorSummary job={job} onShow={onShow} />
      <JobActions
        job={job}
        shared={others !== null}
        onRemoved={() => void navigate({ to: '/jobs', replace: true })}
      />
      <TensorboardLine
        board={job.tensorboard}
        onStop={() => stopJobTensorboard(job.id)}
        showStopped={job.tensorboard?.reason != null}
      />
      {others && (
        <p className={classes.shared}>
          <Trans>Its TensorBoard is shared with {others}.</Trans>
        </p>
      )}
    </div>
  );
}

/** The line with the error: the job's own, or that of an array's first failed task. */
function ErrorSummary({ job, onShow }: { job: JobDetail; onShow: (found: FoundLine) => void }) {
  const navigate = useNavigate();
  const task = job.array?.tasks.find(hasTaskFailed)?.index;
  if (!hasFailed(job) || job.started_at === null || (job.array && task === undefined)) return null;
  const endedAt = job.ended_at;
  if (task === undefined)
    return <ErrorLine source={{ kind: 'jobs', id: job.id }} endedAt={endedAt} onShow={onShow} />;
  return (
    <>
      <p className={classes.shared}>
        <Trans>The first task that failed is task {task}. Its error:</Trans>
      </p>
      <ErrorLine
        source={{ kind: 'jobs', id: job.id, task }}
        endedAt={endedAt}
        onShow={({ stream, line }) =>
          void navigate({
            to: '/jobs/$id/log',
            params: { id: job.id },
            search: { task, find: line, ...(stream === 'stderr' ? { stream } : {}) },
          })
        }
      />
    </>
  );
}

const hasTaskFailed = ({ state, outcome = null, node = null }: Task): boolean =>
  node !== null && hasFailed({ state, outcome });

/** The executed copy of a notebook; it is read only when it is visible. */
function ExecutedNotebook({ path }: { path: string }) {
  const [open, setOpen] = useState(false);
  return (
    <Fold summary={t`The executed notebook`} open={open} onToggle={setOpen}>
      {open && (
        <Suspense fallback={<Skeleton height={240} radius="lg" aria-label={t`Loading`} />}>
          <FilePreview path={path} />
        </Suspense>
      )}
    </Fold>
  );
}

/** Syntax highlighting is loaded only when the script is visible. */
function Script({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  return (
    <Fold summary={t`The script submitted to Slurm`} open={open} onToggle={setOpen}>
      {open && <ScriptText text={text} label={t`The script submitted to Slurm`} />}
    </Fold>
  );
}

function useTemplateTitle(name: string | null): string | undefined {
  const { data } = useQuery({ ...templatesQuery, enabled: name !== null });
  return translate(data?.find((template) => template.name === name)?.title);
}
