import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { NativeSelect } from '@mantine/core';
import type { Cluster } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import { minutesAsTime } from '@/lib/time';
import formClasses from '@/ui/FormPage.module.css';
import { NumberField } from '@/ui/NumberField';
import type { Unit } from '@/ui/numbers';
import { findPartition, gpuTypesOf } from './outlook';
import classes from './Resources.module.css';
import type { ResourceErrors, ResourceFormValues } from './requestedResources';
import { hoursToMinutes, minutesToHours } from './values';

interface Props {
  cluster: Cluster;
  values: ResourceFormValues;
  fieldErrors: ResourceErrors;
  onChange: (values: ResourceFormValues) => void;
  /** omits the GPU type, which another part of the form shows in more detail */
  withoutGpuType?: boolean;
  /** the number of nodes, each with these resources; absent for sessions */
  nodes?: {
    value: number | null;
    onChange: (n: number | null) => void;
  };
}

const HOURS: Unit = { show: minutesToHours, read: hoursToMinutes };

/** Return the label of a partition, as in "gpu (5 of 8 GPUs free)". */
function partitionLabel({ name, gpus }: Cluster['partitions'][number]): string {
  const total = gpus.reduce((sum, g) => sum + g.total, 0);
  const free = gpus.reduce((sum, g) => sum + g.free, 0);
  return total === 0 ? t`${name} (no GPUs)` : t`${name} (${free} of ${total} GPUs free)`;
}

/** The fields of the resources of a session, or of each node of a job. */
export function ResourceFields(props: Props) {
  const { cluster, values, fieldErrors, onChange, nodes } = props;
  const set = (change: Partial<ResourceFormValues>): void => onChange({ ...values, ...change });
  const partition = findPartition(cluster, values.partition);
  const types = partition ? gpuTypesOf(partition) : [];
  const known = values.gpu_type === null || types.includes(values.gpu_type);
  const limit = partition?.max_time_minutes;
  const most = limit ? minutesAsTime(limit) : null;
  const several = (nodes?.value ?? 1) > 1;
  return (
    <div className={formClasses.fields}>
      <NativeSelect
        className={classes.partition}
        label={t`Partition`}
        value={values.partition ?? ''}
        onChange={(event) => set({ partition: event.currentTarget.value || null })}
        data={cluster.partitions.map((p) => ({ value: p.name, label: partitionLabel(p) }))}
        error={fieldErrors.partition}
      />
      {nodes && (
        <NumberField
          label={t`Nodes`}
          value={nodes.value}
          onChange={nodes.onChange}
          min={1}
          error={fieldErrors.nodes}
        />
      )}
      <NumberField
        label={several ? t`GPUs per node` : t`GPUs`}
        value={values.gpus}
        onChange={(gpus) => set({ gpus })}
        min={0}
        error={fieldErrors.gpus}
      />
      {!props.withoutGpuType && (
        <NativeSelect
          label={t`GPU type`}
          value={values.gpu_type ?? ''}
          onChange={(event) => set({ gpu_type: event.currentTarget.value || null })}
          data={[
            { value: '', label: t`Any` },
            ...[...types, ...(known || values.gpu_type === null ? [] : [values.gpu_type])],
          ]}
          disabled={!values.gpus}
          error={fieldErrors.gpu_type}
        />
      )}
      <NumberField
        label={several ? t`CPUs per node` : t`CPUs`}
        value={values.cpus}
        onChange={(cpus) => set({ cpus })}
        min={1}
        error={fieldErrors.cpus}
      />
      <NumberField
        label={several ? t`Memory (GB) per node` : t`Memory (GB)`}
        value={values.memory_gb}
        onChange={(memory_gb) => set({ memory_gb })}
        min={0}
        decimals={1}
        error={fieldErrors.memory_gb}
      />
      <NumberField
        label={most ? t`Hours (max. ${most})` : t`Hours`}
        unit={HOURS}
        value={values.time_limit_minutes}
        onChange={(time_limit_minutes) => set({ time_limit_minutes })}
        min={0}
        decimals={2}
        error={fieldErrors.time_limit_minutes}
      />
      <p className={classes.words}>
        <Trans>
          What these words mean: <Term word="Partition">Partition</Term>,{' '}
          <Term word="GPU">GPU</Term>, <Term word="CPU">CPU</Term>,{' '}
          <Term word="Memory">Memory</Term>, <Term word="Time limit">Time limit</Term>
        </Trans>
      </p>
    </div>
  );
}
