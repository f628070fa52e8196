import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { Cluster, Environment } from '@/api/types';
import { findPartition } from '@/features/resources/outlook';
import type { ResourceErrors, ResourceFormValues } from '@/features/resources/requestedResources';
import { useWaitTexts } from '@/features/resources/useWaitTexts';
import { memoryText } from '@/lib/sizes';
import { ChoiceCard } from '@/ui/ChoiceCard';
import { useGpuFigures } from './gpuFigures';
import classes from './StartPage.module.css';

const ANY = '(any)';

interface Props {
  cluster: Cluster;
  environment: Environment | undefined;
  values: ResourceFormValues;
  fieldErrors: ResourceErrors;
  onChange: (values: ResourceFormValues) => void;
}

/** The partition's GPU types, with their memory, free GPUs and benchmark results. */
export function GpuTypes({ cluster, environment, values, fieldErrors, onChange }: Props) {
  const figures = useGpuFigures();
  const partition = findPartition(cluster, values.partition);
  const types = (values.gpus && partition?.gpus.filter(({ total }) => total > 0)) || [];
  const waitTexts = useWaitTexts(
    types.map(({ type }) => ({ ...values, gpu_type: type })),
    cluster,
    environment && { environment: environment.name },
  );
  if (types.length === 0) return null;
  const only = types.length === 1;
  const isChosen = (type: string): boolean =>
    values.gpu_type === type || (only && values.gpu_type === null);
  const choose = (value: string): void =>
    onChange({ ...values, gpu_type: value === ANY ? null : value });
  return (
    <fieldset className={classes.types}>
      <legend>
        <Trans>GPU type</Trans>
      </legend>
      <div className={classes.cards}>
        {!only && (
          <ChoiceCard
            group="gpu-type"
            value={ANY}
            title={t`Any type`}
            checked={values.gpu_type === null}
            onChoose={choose}
          >
            <span className={classes.quiet}>
              <Trans>Starts soonest: whatever is free first</Trans>
            </span>
          </ChoiceCard>
        )}
        {types.map(({ type, total, free }, index) => (
          <ChoiceCard
            key={type}
            group="gpu-type"
            value={type}
            title={type}
            checked={isChosen(type)}
            onChoose={choose}
          >
            <span>
              <Trans context="GPUs">
                {free} of {total} free
              </Trans>
            </span>
            <span>{waitTexts[index]}</span>
            <GpuMemory gb={cluster.gpu_memory_gb[type]} />
            {(figures.get(type) ?? []).map((figure) => (
              <span key={figure} className={classes.quiet}>
                {figure}
              </span>
            ))}
          </ChoiceCard>
        ))}
      </div>
      {fieldErrors.gpu_type && (
        <p className={classes.problem} role="alert">
          {fieldErrors.gpu_type}
        </p>
      )}
    </fieldset>
  );
}

/** Memory of one GPU; nothing if the site has not configured it. */
function GpuMemory({ gb }: { gb: number | undefined }) {
  if (gb === undefined) return null;
  const memory = memoryText(gb);
  return (
    <span className={classes.quiet}>
      <Trans>{memory} of memory each</Trans>
    </span>
  );
}
