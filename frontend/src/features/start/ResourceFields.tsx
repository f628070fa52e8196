import { NativeSelect, NumberInput } from '@mantine/core';
import type { Cluster } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import { minutesAsTime } from '@/lib/time';
import { type Draft, findPartition, gpuTypesOf, type Problems } from './check';
import { hoursToMinutes, minutesToHours } from './draft';
import classes from './StartPage.module.css';

interface Props {
  cluster: Cluster;
  draft: Draft;
  problems: Problems;
  onChange: (draft: Draft) => void;
  /** the types of GPU are shown elsewhere, with more of each */
  typesBelow?: boolean;
  /** for what may have several nodes, each with these resources */
  nodes?: {
    value: number | null;
    problem?: string | undefined;
    onChange: (n: number | null) => void;
  };
}

const asNumber = (value: string | number): number | null =>
  typeof value === 'number' ? value : null;

/** "gpu (5 of 8 GPUs free)" */
function partitionLabel(partition: Cluster['partitions'][number]): string {
  const total = partition.gpus.reduce((sum, g) => sum + g.total, 0);
  const free = partition.gpus.reduce((sum, g) => sum + g.free, 0);
  return `${partition.name} (${total === 0 ? 'no GPUs' : `${free} of ${total} GPUs free`})`;
}

export function ResourceFields(props: Props) {
  const { cluster, draft, problems, onChange, nodes } = props;
  const set = (change: Partial<Draft>): void => onChange({ ...draft, ...change });
  const partition = findPartition(cluster, draft.partition);
  const types = partition ? gpuTypesOf(partition) : [];
  const known = draft.gpu_type === null || types.includes(draft.gpu_type);
  const limit = partition?.max_time_minutes;
  const each = (label: string): string => ((nodes?.value ?? 1) > 1 ? `${label} per node` : label);
  return (
    <div className={classes.fields}>
      <NativeSelect
        className={classes.partition}
        label="Partition"
        value={draft.partition ?? ''}
        onChange={(event) => set({ partition: event.currentTarget.value || null })}
        data={cluster.partitions.map((p) => ({ value: p.name, label: partitionLabel(p) }))}
        error={problems.partition}
      />
      {nodes && (
        <NumberInput
          label="Nodes"
          value={nodes.value ?? ''}
          onChange={(value) => nodes.onChange(asNumber(value))}
          min={1}
          allowDecimal={false}
          clampBehavior="none"
          error={nodes.problem}
        />
      )}
      <NumberInput
        label={each('GPUs')}
        value={draft.gpus ?? ''}
        onChange={(value) => set({ gpus: asNumber(value) })}
        min={0}
        allowDecimal={false}
        clampBehavior="none"
        error={problems.gpus}
      />
      {!props.typesBelow && (
        <NativeSelect
          label="GPU type"
          value={draft.gpu_type ?? ''}
          onChange={(event) => set({ gpu_type: event.currentTarget.value || null })}
          data={[
            { value: '', label: 'Any' },
            ...[...types, ...(known || draft.gpu_type === null ? [] : [draft.gpu_type])],
          ]}
          disabled={!draft.gpus}
          error={problems.gpu_type}
        />
      )}
      <NumberInput
        label={each('CPUs')}
        value={draft.cpus ?? ''}
        onChange={(value) => set({ cpus: asNumber(value) })}
        min={1}
        allowDecimal={false}
        clampBehavior="none"
        error={problems.cpus}
      />
      <NumberInput
        label={each('Memory (GB)')}
        value={draft.memory_gb ?? ''}
        onChange={(value) => set({ memory_gb: asNumber(value) })}
        min={0}
        decimalScale={1}
        clampBehavior="none"
        error={problems.memory_gb}
      />
      <NumberInput
        label={limit ? `Hours (max. ${minutesAsTime(limit)})` : 'Hours'}
        value={minutesToHours(draft.time_limit_minutes) ?? ''}
        onChange={(value) => set({ time_limit_minutes: hoursToMinutes(asNumber(value)) })}
        min={0}
        decimalScale={2}
        clampBehavior="none"
        error={problems.time_limit_minutes}
      />
      <p className={classes.words}>
        What these words mean: <Term>Partition</Term>, <Term>GPU</Term>, <Term>CPU</Term>,{' '}
        <Term>Memory</Term>, <Term>Time limit</Term>
      </p>
    </div>
  );
}
