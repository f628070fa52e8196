import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { translate } from '@/i18n/translate';
import { type Column, DataTable } from '@/ui/DataTable';
import type { StateLabel } from '@/ui/StateChip';
import { StateChip } from '@/ui/StateChip';
import { type LineFilter, reportText, shownRows } from './csv';
import classes from './Import.module.css';
import { roleText } from './labels';
import type { ImportLine, UserImport } from './types';

const RESULTS: Record<ImportLine['result'], StateLabel> = {
  error: { label: t`Mistake`, tone: 'bad' },
  exists: { label: t`Exists already`, tone: 'quiet' },
  would_create: { label: t`Would be created`, tone: 'good' },
  created: { label: t`Created`, tone: 'good' },
};

const AT_ONCE = 200;

/** The result of each line, or the expected one: mistakes first. */
export function ImportReport({ run, children }: { run: UserImport; children?: ReactNode }) {
  const [filter, setFilter] = useState<LineFilter>('all');
  const [most, setMost] = useState(AT_ONCE);
  const rows = shownRows(run.rows, filter);
  const left = rows.length - most;
  const filters: { value: LineFilter; label: string; n: number }[] = [
    { value: 'all', label: t`All lines`, n: run.total },
    { value: 'error', label: run.dry_run ? t`Mistakes` : t`Not created`, n: run.failed },
    { value: 'exists', label: t`Exist already`, n: run.exists },
    { value: 'fine', label: run.dry_run ? t`Would be created` : t`Created`, n: run.created },
  ];
  return (
    <>
      <p className={classes.summary} role="status">
        {reportText(run)}
      </p>
      {children}
      <div className={classes.filters} role="toolbar" aria-label={t`Filter lines`}>
        {filters.map(({ value, label, n }) => (
          <Button
            key={value}
            size="compact-sm"
            variant={value === filter ? 'light' : 'default'}
            aria-pressed={value === filter}
            disabled={n === 0}
            onClick={() => {
              setFilter(value);
              setMost(AT_ONCE);
            }}
          >
            <Trans>
              {label} ({n})
            </Trans>
          </Button>
        ))}
      </div>
      {rows.length > 0 && <Lines rows={rows.slice(0, most)} />}
      {left > 0 && (
        <div>
          <Button variant="default" onClick={() => setMost(most + AT_ONCE)}>
            <Trans>Show more ({left} are left)</Trans>
          </Button>
        </div>
      )}
    </>
  );
}

function Lines({ rows }: { rows: ImportLine[] }) {
  return (
    <DataTable
      label={t`Lines of the file`}
      columns={COLUMNS}
      rows={rows}
      rowKey={({ line }) => line}
    />
  );
}

const COLUMNS: Column<ImportLine>[] = [
  { id: 'line', header: t`Line`, cell: ({ line }) => line, narrowLabeled: true },
  {
    id: 'username',
    header: t`User name`,
    cell: ({ username }) => username || '–',
    rowHeader: true,
  },
  {
    id: 'result',
    header: t`Result`,
    cell: ({ result }) => <StateChip {...RESULTS[result]} />,
    narrowBeside: true,
  },
  {
    id: 'login-group',
    header: t`Login group`,
    cell: (row) => row.login_group ?? '–',
    narrowLabeled: true,
    isEmpty: (row) => row.login_group === null,
  },
  {
    id: 'account',
    header: t`Slurm account`,
    cell: (row) => row.slurm_account ?? '–',
    narrowLabeled: true,
    isEmpty: (row) => row.slurm_account === null,
  },
  {
    id: 'notes',
    header: t`Notes`,
    cell: (row) => <Notes row={row} />,
    isEmpty: (row) => !hasNotes(row),
  },
];

const isCreated = ({ result }: ImportLine): boolean =>
  result === 'created' || result === 'would_create';

const hasNotes = (row: ImportLine): boolean =>
  row.findings.length > 0 || (isCreated(row) && row.role !== 'user');

/** The problems of a line; for a valid one, notes about its groups. */
function Notes({ row }: { row: ImportLine }) {
  return (
    <div className={classes.notes}>
      {row.findings.map(({ field, message }) => (
        <div key={`${field} ${message}`}>
          {field && <code className={classes.field}>{field}</code>} {translate(message)}
        </div>
      ))}
      {isCreated(row) && row.role === null && (
        <StateChip tone="waiting" label={t`Can't log in: in no login group`} />
      )}
      {isCreated(row) && row.role !== null && row.role !== 'user' && (
        <StateChip tone="bad" label={roleText(row.role, true)} />
      )}
    </div>
  );
}
