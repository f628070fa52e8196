import { Trans } from '@lingui/react/macro';
import type { Cluster, Environment, ResolvedResources } from '@/api/types';
import { StartEstimate } from '@/features/estimates/StartEstimate';
import { OUTLOOK_TEXT, outlook } from '@/features/resources/outlook';
import type { ResourceFormValues } from '@/features/resources/requestedResources';
import { toResources } from '@/features/resources/values';
import classes from './StartPage.module.css';

interface Props {
  values: ResourceFormValues;
  cluster: Cluster;
  environment: Environment | undefined;
  /** whether the form has no errors */
  isValid: boolean;
  onChoose: (resources: ResolvedResources) => void;
}

/** The expected start. Slurm estimates it only if the request would wait in the queue. */
export function StartOutlook({ values, cluster, environment, isValid, onChoose }: Props) {
  if (!isValid)
    return (
      <p className={`${classes.outlook} ${classes.why}`} role="status">
        <Trans>Correct the marked fields.</Trans>
      </p>
    );
  if (cluster.stale_since !== null)
    return (
      <p className={classes.outlook} role="status">
        <Trans>Slurm doesn't answer, so the start time can't be estimated.</Trans>
      </p>
    );
  const expected = outlook(values, cluster);
  const text = (
    <p className={classes.outlook} role="status">
      {OUTLOOK_TEXT[expected]}
    </p>
  );
  if (expected === 'now' || !environment) return text;
  return (
    <StartEstimate
      request={{ resources: toResources(values) ?? {}, environment: environment.name }}
      isValid
      lead={text}
      onChoose={onChoose}
    />
  );
}
