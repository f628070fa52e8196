import { t } from '@lingui/core/macro';
import { Link } from '@tanstack/react-router';
import { useLive } from '@/live/store';
import type { MyJob } from './types';

/** A session or job of one's own, by its name; a TensorBoard has no page of its own here. */
export function MyJobLink({ job }: { job: MyJob }) {
  const isSession = useLive((s) => s.sessions?.some((session) => session.id === job.id) ?? false);
  const isJob = useLive((s) => s.jobs?.some((one) => one.id === job.id) ?? false);
  const name = job.name || t`job ${{ number: job.job_id }}`;
  if (isJob)
    return (
      <Link to="/jobs/$id" params={{ id: job.id }}>
        {name}
      </Link>
    );
  if (isSession)
    return (
      <Link to="/sessions/$id" params={{ id: job.id }}>
        {name}
      </Link>
    );
  return <span>{name}</span>;
}
