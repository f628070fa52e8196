import type { Cluster } from '@/api/types';
import { gpuText } from '@/features/sessions/words';
import { minutesAsTime } from '@/lib/time';
import { type Draft, OUTLOOK_TEXT, outlook } from './check';
import classes from './StartPage.module.css';

interface Props {
  draft: Draft;
  cluster: Cluster;
  possible: boolean;
}

/** What will happen on pressing Start, as far as one can see. */
export function StartOutlook({ draft, cluster, possible }: Props) {
  if (!possible)
    return (
      <p className={`${classes.outlook} ${classes.why}`} role="status">
        Not possible like this: see above.
      </p>
    );
  const gpus = gpuText({ gpus: draft.gpus ?? 0, gpu_type: draft.gpu_type });
  const what = gpus.charAt(0).toUpperCase() + gpus.slice(1);
  return (
    <p className={`${classes.outlook} ${classes.quiet}`} role="status">
      {what} for {minutesAsTime(draft.time_limit_minutes ?? 0)}.{' '}
      {OUTLOOK_TEXT[outlook(draft, cluster)]}
    </p>
  );
}
