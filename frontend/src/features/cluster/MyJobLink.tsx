import { t } from '@lingui/core/macro';
import { Link } from '@tanstack/react-router';
import { useLive } from '@/live/store';
import type { MyJob } from './types';

/** A link to one of the user's sessions or jobs; a TensorBoard has no page, so only its name. */
export function MyJobLink({ job }: { job: MyJob }) {
  const isSession = useLive((s) => s.sessions?.some((session) => session.id === job.id) ?? false);
  const isJob = useLive((s) => s.jobs?.some((other) => other.id === job.id) ?? false);
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
