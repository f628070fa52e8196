import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, sentence } from '@/api/problem';
import type { JobDetail, Task } from '@/api/types';
import { ErrorLine, type LinePlace } from '@/features/log/ErrorLine';
import logClasses from '@/features/log/LogPage.module.css';
import { Reason } from '@/features/sessions/Reason';
import { sharedText } from '@/features/tensorboard/sharing';
import { TensorboardLine } from '@/features/tensorboard/TensorboardLine';
import { translate } from '@/i18n/translate';
import { Fold } from '@/ui/Fold';
import { NotFoundPage } from '@/ui/NotFoundPage';
import { Notice } from '@/ui/Notice';
import { PageTitle } from '@/ui/PageTitle';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { stopJobTensorboard } from './actions';
import { JobActions } from './JobActions';
import { JobFacts } from './JobFacts';
import { JobLog } from './JobLog';
import classes from './JobPage.module.css';
import { JobUsage } from './JobUsage';
import { failed, jobReason, jobStateLabel } from './labels';
import { templatesQuery } from './queries';
import { ScriptText } from './ScriptText';
import { SoonerOptions } from './SoonerOptions';
import { TaskTable } from './TaskTable';
import { TensorboardBox } from './TensorboardBox';
import { Timeline } from './Timeline';
import { useJob } from './useJob';

/** Everything about one job. */
export function JobPage() {
  const { id } = useParams({ from: '/member/jobs/$id' });
  const { job, error } = useJob(id);
  if (error instanceof ApiError && error.status === 404) return <NotFoundPage />;
  if (error) return <Notice tone="error">{sentence(error)}</Notice>;
  if (job === undefined) return <Skeleton height={320} radius="lg" aria-label={t`Loading`} />;
  return <Detail key={job.id} job={job} />;
}

function Detail({ job }: { job: JobDetail }) {
  const title = useTemplateTitle(job.template);
  const [line, setLine] = useState<LinePlace | null>(null);
  return (
    <>
      <Link to="/jobs" className={logClasses.back}>
        <Trans>← Your jobs</Trans>
      </Link>
      <div className={logClasses.top}>
        <PageTitle tab={job.name}>{job.name}</PageTitle>
        <StateChip {...jobStateLabel(job)} />
      </div>
      <div className={classes.page}>
        <Now job={job} onShow={setLine} />
        <Timeline job={job} />
        {job.array && <TaskTable job={job} array={job.array} />}
        {job.started_at && !job.array && <JobLog id={job.id} shown={line} />}
        <JobUsage job={job} />
        <JobFacts job={job} title={title} />
        <TensorboardBox job={job} />
        {(job.source ?? job.script) && <Script text={job.script ?? job.source ?? ''} />}
      </div>
    </>
  );
}

/** How it stands, why, and what can be done about it. */
function Now({ job, onShow }: { job: JobDetail; onShow: (place: LinePlace) => void }) {
  const navigate = useNavigate();
  const reason = jobReason(job);
  const others = sharedText(job);
  return (
    <div className={classes.now}>
      {job.stale_since && job.state !== 'ended' && (
        <Notice tone="warning">
          <Trans>
            Last known state: Slurm has not answered since <Time at={job.stale_since} />.
          </Trans>
        </Notice>
      )}
      {reason && <Reason reason={reason} suggestion={job.suggestion} />}
      <SoonerOptions job={job} />
      <WentWrong job={job} onShow={onShow} />
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
      {others && (
        <p className={classes.shared}>
          <Trans>Its TensorBoard is shared with {others}.</Trans>
        </p>
      )}
    </div>
  );
}

/** The line with the error: its own, or of an array that of the first task that failed. */
function WentWrong({ job, onShow }: { job: JobDetail; onShow: (place: LinePlace) => void }) {
  const navigate = useNavigate();
  const task = job.array?.tasks.find(failedTask)?.index;
  if (!failed(job) || job.started_at === null || (job.array && task === undefined)) return null;
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

const failedTask = ({ state, outcome = null, node = null }: Task): boolean =>
  node !== null && failed({ state, outcome });

/** Syntax highlighting is loaded only when the script is visible. */
function Script({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  return (
    <Fold summary={t`The script submitted to Slurm`} open={open} onTurn={setOpen}>
      {open && <ScriptText text={text} label={t`The script submitted to Slurm`} />}
    </Fold>
  );
}

function useTemplateTitle(name: string | null): string | undefined {
  const { data } = useQuery({ ...templatesQuery, enabled: name !== null });
  return translate(data?.find((template) => template.name === name)?.title);
}
