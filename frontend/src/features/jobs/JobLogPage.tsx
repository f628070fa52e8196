import { t } from '@lingui/core/macro';
import { Skeleton } from '@mantine/core';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { ApiError, errorMessage } from '@/api/problem';
import { LogView } from '@/features/log/LogView';
import type { Stream } from '@/features/log/source';
import { NotFoundPage } from '@/ui/NotFoundPage';
import head from '@/ui/PageHead.module.css';
import { PageTitle } from '@/ui/PageTitle';
import { StateChip } from '@/ui/StateChip';
import { TryAgain } from '@/ui/TryAgain';
import { jobStateLabel } from './labels';
import { useJob } from './useJob';

/** The log of a job, or of one task of an array. */
export function JobLogPage() {
  const { id } = useParams({ from: '/signed-in/jobs/$id/log' });
  const { stream = 'stdout', task, find = '' } = useSearch({ from: '/signed-in/jobs/$id/log' });
  const navigate = useNavigate();
  const { job, error, retry } = useJob(id);
  // An array has a log for each task, so default to the first task's.
  const taskIndex = task ?? (job?.array ? (job.array.tasks[0]?.index ?? 0) : undefined);
  const choose = (value: Stream): void => {
    const search = {
      ...(value === 'stderr' ? { stream: value } : {}),
      ...(task === undefined ? {} : { task }),
    };
    void navigate({ to: '/jobs/$id/log', params: { id }, search, replace: true });
  };
  if (error instanceof ApiError && error.status === 404) return <NotFoundPage />;
  const title = titleText(job?.name, taskIndex);
  return (
    <>
      <Link to="/jobs/$id" params={{ id }} className={head.back}>
        ← {job?.name ?? t`The job`}
      </Link>
      <div className={head.top}>
        <PageTitle tab={title}>{title}</PageTitle>
        {job && <StateChip {...jobStateLabel(job)} />}
      </div>
      {error && <TryAgain error={errorMessage(error)} onRetry={retry} />}
      {!job && !error && <Skeleton height={320} radius="lg" aria-label={t`Loading`} />}
      {job && (
        <LogView
          source={{ kind: 'jobs', id, task: taskIndex }}
          stream={stream}
          onStream={choose}
          first="stdout"
          find={find}
        />
      )}
    </>
  );
}

/** Return the page's title; `name`: undefined until the job is loaded. */
function titleText(name: string | undefined, task: number | undefined): string {
  if (name === undefined) return task === undefined ? t`Log of job` : t`Log of job, task ${task}`;
  return task === undefined ? t`Log of ${name}` : t`Log of ${name}, task ${task}`;
}
