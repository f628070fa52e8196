import { Trans } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import type { JobDetail } from '@/api/types';
import { estimateQuery } from '@/features/estimates/queries';
import { startText } from '@/features/estimates/StartEstimate';
import { translate } from '@/i18n/translate';
import { useNow } from '@/lib/useNow';
import classes from './JobPage.module.css';

/** Other resources with which a pending job would start sooner. */
export function SoonerOptions({ job }: { job: JobDetail }) {
  const { template, environment, resources } = job;
  const { data } = useQuery({
    ...estimateQuery({
      resources,
      ...(template ? { template } : {}),
      ...(environment ? { environment } : {}),
    }),
    enabled: job.state === 'queued' && !job.external,
  });
  const now = useNow();
  if (job.state !== 'queued' || !data || data.alternatives.length === 0) return null;
  return (
    <div className={classes.sooner}>
      <p>
        <Trans>Submitted with other resources, it would start sooner:</Trans>
      </p>
      <ul>
        {data.alternatives.map(({ title, start_at: start }) => (
          <li key={title}>
            {translate(title)} – {startText(start, now)}
          </li>
        ))}
      </ul>
    </div>
  );
}
