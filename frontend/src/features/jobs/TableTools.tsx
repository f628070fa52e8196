import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Checkbox, NativeSelect, Popover, Stack, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { Job } from '@/api/types';
import { Icon } from '@/ui/icons';
import {
  allColumns,
  chosenIds,
  metricOf,
  ownColumnIds,
  parameterOf,
  toggledColumn,
} from './columns';
import { type JobsSearch, readJobsSearch } from './search';
import classes from './TableTools.module.css';
import type { TablePreferences } from './useTablePreferences';

/** Chooses how the jobs are grouped; kept in the address. */
export function GroupSelect({ search }: { search: JobsSearch }) {
  const navigate = useNavigate();
  return (
    <NativeSelect
      aria-label={t`Group by`}
      value={search.group ?? ''}
      onChange={(event) => {
        const next = readJobsSearch({ ...search, group: event.currentTarget.value });
        void navigate({ to: '/jobs', search: next, replace: true });
      }}
    >
      <option value="">{t`No groups`}</option>
      <option value="template">{t`By template`}</option>
      <option value="name">{t`By name without number`}</option>
    </NativeSelect>
  );
}

interface ColumnsProps {
  jobs: readonly Job[];
  preferences: TablePreferences;
}

/** Chooses the columns, which the portal stores for the user. */
export function ColumnsButton({ jobs, preferences: { columns, setColumns } }: ColumnsProps) {
  return (
    <Popover position="bottom-end" width={260} trapFocus returnFocus shadow="md">
      <Popover.Target>
        <Button variant="default" leftSection={<Icon name="columns" />}>
          <Trans>Columns</Trans>
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t`Columns`} className={classes.columns}>
        <ColumnList jobs={jobs} columns={columns} onChange={setColumns} />
      </Popover.Dropdown>
    </Popover>
  );
}

interface ListProps {
  jobs: readonly Job[];
  columns: readonly string[] | null;
  onChange: (columns: readonly string[] | null) => void;
}

function ColumnList({ jobs, columns, onChange }: ListProps) {
  const all = allColumns(columns, ownColumnIds(jobs));
  const chosen = chosenIds(columns);
  const boxes = (isInGroup: (id: string) => boolean) =>
    all
      .filter(({ id }) => isInGroup(id))
      .map(({ id, label }) => (
        <Checkbox
          key={id}
          label={label}
          checked={chosen.includes(id)}
          onChange={() => onChange(toggledColumn(columns, id))}
        />
      ));
  const parameters = boxes((id) => parameterOf(id) !== null);
  const metrics = boxes((id) => metricOf(id) !== null);
  return (
    <Stack gap="xs">
      {boxes((id) => parameterOf(id) === null && metricOf(id) === null)}
      {parameters.length > 0 && (
        <Text size="sm" fw={600} mt="xs">
          <Trans>Parameters</Trans>
        </Text>
      )}
      {parameters}
      {metrics.length > 0 && (
        <Text size="sm" fw={600} mt="xs">
          <Trans>Last metrics</Trans>
        </Text>
      )}
      {metrics}
      <Button
        variant="subtle"
        color="gray"
        disabled={columns === null}
        onClick={() => onChange(null)}
      >
        <Trans>Default columns</Trans>
      </Button>
    </Stack>
  );
}
