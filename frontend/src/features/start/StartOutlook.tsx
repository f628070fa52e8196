import { Trans } from '@lingui/react/macro';
import type { Cluster, Environment, Resources } from '@/api/types';
import { StartEstimate } from '@/features/estimates/StartEstimate';
import { type Draft, OUTLOOK_TEXT, outlook } from './check';
import { toResources } from './draft';
import classes from './StartPage.module.css';

interface Props {
  draft: Draft;
  cluster: Cluster;
  environment: Environment | undefined;
  possible: boolean;
  onChoose: (resources: Resources) => void;
}

/** When it would start, as far as one can see. Slurm is asked only where it would have to wait. */
export function StartOutlook({ draft, cluster, environment, possible, onChoose }: Props) {
  if (!possible)
    return (
      <p className={`${classes.outlook} ${classes.why}`} role="status">
        <Trans>Fix the fields marked in the form.</Trans>
      </p>
    );
  if (cluster.stale_since !== null)
    return (
      <p className={classes.outlook} role="status">
        <Trans>Slurm isn’t responding, so the start time can’t be estimated.</Trans>
      </p>
    );
  const expected = outlook(draft, cluster);
  const text = (
    <p className={classes.outlook} role="status">
      {OUTLOOK_TEXT[expected]}
    </p>
  );
  if (expected === 'now' || !environment) return text;
  return (
    <StartEstimate
      ask={{ resources: toResources(draft) ?? {}, environment: environment.name }}
      possible
      lead={text}
      onChoose={onChoose}
    />
  );
}
