import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, sentence } from '@/api/problem';
import type { JobDetail } from '@/api/types';
import { NotFoundPage } from '@/app/NotFoundPage';
import { PageTitle } from '@/app/PageTitle';
import logClasses from '@/features/log/LogPage.module.css';
import { LogView } from '@/features/log/LogView';
import type { Stream } from '@/features/log/source';
import { Reason } from '@/features/sessions/Reason';
import { TensorboardLine } from '@/features/sessions/TensorboardLine';
import { sharedText } from '@/features/tensorboard/sharing';
import { Notice } from '@/ui/Notice';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { stopJobTensorboard } from './actions';
import { BoardBox } from './BoardBox';
import { ErrorLine } from './ErrorLine';
import { JobActions } from './JobActions';
import { JobTimes } from './JobCard';
import { JobFacts } from './JobFacts';
import classes from './JobPage.module.css';
import { templatesQuery } from './queries';
import { ScriptText } from './ScriptText';
import { TaskTable } from './TaskTable';
import { useJob } from './useJob';
import { failed, jobReason, jobStateWords } from './words';

/** Everything about one job. */
export function JobPage() {
  const { id } = useParams({ from: '/member/jobs/$id' });
  const { job, error } = useJob(id);
  if (error instanceof ApiError && error.status === 404) return <NotFoundPage />;
  if (error) return <Notice tone="error">{sentence(error)}</Notice>;
  if (job === undefined) return <Skeleton height={320} radius="lg" aria-label="Loading" />;
  return <Detail key={job.id} job={job} />;
}

function Detail({ job }: { job: JobDetail }) {
  const navigate = useNavigate();
  const reason = jobReason(job);
  const title = useTemplateTitle(job.template);
  const others = sharedText(job);
  return (
    <>
      <Link to="/jobs" className={logClasses.back}>
        ← Your jobs
      </Link>
      <div className={logClasses.top}>
        <PageTitle tab={job.name}>{job.name}</PageTitle>
        <StateChip {...jobStateWords(job)} />
      </div>
      <div className={classes.page}>
        <div className={classes.now}>
          {job.stale_since && job.state !== 'ended' && (
            <Notice tone="warning">
              Last known state: Slurm has not answered since <Time at={job.stale_since} />.
            </Notice>
          )}
          {reason && <Reason reason={reason} advice={job.advice} />}
          {failed(job) && job.started_at && !job.array && (
            <ErrorLine of={{ kind: 'jobs', id: job.id }} />
          )}
          <JobTimes job={job} />
          <JobActions
            job={job}
            withLog={false}
            shared={others !== null}
            onRemoved={() => void navigate({ to: '/jobs', replace: true })}
          />
          <TensorboardLine
            board={job.tensorboard}
            onStop={() => stopJobTensorboard(job.id)}
            stopped={job.tensorboard?.reason != null}
          />
          {others && <p className={classes.shared}>Its TensorBoard is shared with {others}.</p>}
        </div>
        {job.array && <TaskTable job={job} array={job.array} />}
        {job.started_at && !job.array && <Log id={job.id} />}
        <JobFacts job={job} title={title} />
        <BoardBox job={job} />
        {(job.source ?? job.script) && (
          <details className={classes.fold}>
            <summary>The script Slurm was given</summary>
            <ScriptText text={job.script ?? job.source ?? ''} />
          </details>
        )}
      </div>
    </>
  );
}

function useTemplateTitle(name: string | null): string | undefined {
  const { data } = useQuery({ ...templatesQuery, enabled: name !== null });
  return data?.find((template) => template.name === name)?.title;
}

function Log({ id }: { id: string }) {
  const [stream, setStream] = useState<Stream>('stdout');
  return (
    <section aria-labelledby="log">
      <h2 id="log" className={classes.heading}>
        Log
      </h2>
      <LogView
        of={{ kind: 'jobs', id }}
        stream={stream}
        onStream={setStream}
        first="stdout"
        short
      />
    </section>
  );
}
