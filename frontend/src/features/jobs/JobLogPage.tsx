import { t } from '@lingui/core/macro';
import { Skeleton } from '@mantine/core';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { ApiError, sentence } from '@/api/problem';
import logClasses from '@/features/log/LogPage.module.css';
import { LogView } from '@/features/log/LogView';
import type { Stream } from '@/features/log/source';
import { NotFoundPage } from '@/ui/NotFoundPage';
import { Notice } from '@/ui/Notice';
import { PageTitle } from '@/ui/PageTitle';
import { StateChip } from '@/ui/StateChip';
import { jobStateLabel } from './labels';
import { useJob } from './useJob';

/** What a job, or one task of an array, has printed. */
export function JobLogPage() {
  const { id } = useParams({ from: '/member/jobs/$id/log' });
  const { stream = 'stdout', task, find = '' } = useSearch({ from: '/member/jobs/$id/log' });
  const navigate = useNavigate();
  const { job, error } = useJob(id);
  // An array has a log for each task; the first one's is as good as any.
  const whose = task ?? (job?.array ? (job.array.tasks[0]?.index ?? 0) : undefined);
  const choose = (value: Stream): void => {
    const search = {
      ...(value === 'stderr' ? { stream: value } : {}),
      ...(task === undefined ? {} : { task }),
    };
    void navigate({ to: '/jobs/$id/log', params: { id }, search, replace: true });
  };
  if (error instanceof ApiError && error.status === 404) return <NotFoundPage />;
  const title = titleText(job?.name, whose);
  return (
    <>
      <Link to="/jobs/$id" params={{ id }} className={logClasses.back}>
        ← {job?.name ?? t`The job`}
      </Link>
      <div className={logClasses.top}>
        <PageTitle tab={title}>{title}</PageTitle>
        {job && <StateChip {...jobStateLabel(job)} />}
      </div>
      {error && <Notice tone="error">{sentence(error)}</Notice>}
      {!job && !error && <Skeleton height={320} radius="lg" aria-label={t`Loading`} />}
      {job && (
        <LogView
          source={{ kind: 'jobs', id, task: whose }}
          stream={stream}
          onStream={choose}
          first="stdout"
          find={find}
        />
      )}
    </>
  );
}

/** `name`: undefined while the job isn't known. */
function titleText(name: string | undefined, task: number | undefined): string {
  if (name === undefined) return task === undefined ? t`Log of job` : t`Log of job, task ${task}`;
  return task === undefined ? t`Log of ${name}` : t`Log of ${name}, task ${task}`;
}
