import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Checkbox, NativeSelect, Popover, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Job } from '@/api/types';
import { Icon } from '@/ui/icons';
import { allColumns, chosenIds, ownColumnIds, toggledColumn } from './columns';
import { metricOf, parameterOf } from './columnValues';
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

/** With more columns than this, there is a search field. */
const MAX_WITHOUT_SEARCH = 20;
/** The most columns that the portal stores. */
const MAX_COLUMNS = 60;

function ColumnList({ jobs, columns, onChange }: ListProps) {
  const [text, setText] = useState('');
  const all = allColumns(columns, ownColumnIds(jobs));
  const chosen = chosenIds(columns);
  const isFull = chosen.length >= MAX_COLUMNS;
  const wanted = text.trim().toLowerCase();
  const boxes = (isInGroup: (id: string) => boolean) =>
    all
      .filter(({ id, label }) => isInGroup(id) && label.toLowerCase().includes(wanted))
      .map(({ id, label, hint }) => (
        <Checkbox
          key={id}
          label={label}
          description={hint}
          checked={chosen.includes(id)}
          disabled={isFull && !chosen.includes(id)}
          onChange={() => onChange(toggledColumn(columns, id))}
        />
      ));
  const parameters = boxes((id) => parameterOf(id) !== null);
  const metrics = boxes((id) => metricOf(id) !== null);
  return (
    <Stack gap="xs">
      {all.length > MAX_WITHOUT_SEARCH && (
        <TextInput
          type="search"
          aria-label={t`Search columns`}
          placeholder={t`Search columns`}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      {isFull && (
        <Text size="sm">
          <Trans>A table can have at most {MAX_COLUMNS} columns.</Trans>
        </Text>
      )}
      {boxes((id) => parameterOf(id) === null && metricOf(id) === null)}
      {parameters.length > 0 && (
        <Text size="sm" fw={600} mt="xs">
          <Trans>Parameters</Trans>
        </Text>
      )}
      {parameters}
      {metrics.length > 0 && (
        <Text size="sm" fw={600} mt="xs">
          <Trans>Metrics (last value)</Trans>
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
