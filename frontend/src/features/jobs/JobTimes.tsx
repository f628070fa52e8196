import { Trans } from '@lingui/react/macro';
import type { Job } from '@/api/types';
import { useDerivedNow } from '@/lib/useNow';
import { Time } from '@/ui/Time';
import { jobTime } from './labels';

interface Props {
  job: Job;
  /** the job's number in Slurm, to show it too */
  slurmId?: number | null;
}

/** A job's time waiting, running or run, and when it ended or is expected to start. */
export function JobTimes({ job, slurmId = null }: Props) {
  const now = useDerivedNow((ms) => (job.ended_at === null ? ms : 0)); // an ended job does not change
  const text = jobTime(job, now);
  const time = text.charAt(0).toUpperCase() + text.slice(1);
  const { ended_at: ended, estimated_start: start } = job;
  const expected = job.state === 'queued' && start !== null && Date.parse(start) > now;
  return (
    <>
      {ended !== null ? (
        <Trans>
          {time}, ended <Time at={ended} relative />
        </Trans>
      ) : expected ? (
        <Trans>
          {time}, expected to start by <Time at={start} />
        </Trans>
      ) : (
        time
      )}
      {slurmId !== null && (
        <>
          {' · '}
          <Trans>Slurm job {slurmId}</Trans>
        </>
      )}
    </>
  );
}
