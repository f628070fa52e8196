import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Table } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { StateWords } from '@/features/sessions/words';
import { said } from '@/i18n/said';
import { StateChip } from '@/ui/StateChip';
import { reportText, shownRows, type Which } from './csv';
import classes from './Import.module.css';
import type { ImportLine, PeopleImport } from './shapes';

const RESULTS: Record<ImportLine['result'], StateWords> = {
  error: { label: t`Mistake`, tone: 'bad' },
  exists: { label: t`Exists already`, tone: 'quiet' },
  would_create: { label: t`Would be created`, tone: 'good' },
  created: { label: t`Created`, tone: 'good' },
};

const AT_ONCE = 200;

/** What became of each line, or would: mistakes first. */
export function ImportReport({ run, children }: { run: PeopleImport; children?: ReactNode }) {
  const [which, setWhich] = useState<Which>('all');
  const [most, setMost] = useState(AT_ONCE);
  const rows = shownRows(run.rows, which);
  const left = rows.length - most;
  const filters: { value: Which; label: string; n: number }[] = [
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
      <div className={classes.filters} role="toolbar" aria-label={t`Which lines`}>
        {filters.map(({ value, label, n }) => (
          <Button
            key={value}
            size="compact-sm"
            variant={value === which ? 'light' : 'default'}
            aria-pressed={value === which}
            disabled={n === 0}
            onClick={() => {
              setWhich(value);
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
    <Paper className={classes.table}>
      <Table verticalSpacing={6} horizontalSpacing="md" aria-label={t`Lines of the file`}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>
              <Trans>Line</Trans>
            </Table.Th>
            <Table.Th>
              <Trans>User name</Trans>
            </Table.Th>
            <Table.Th>
              <Trans>Result</Trans>
            </Table.Th>
            <Table.Th>
              <Trans>Why</Trans>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={`${row.line} ${row.field ?? ''} ${row.message ?? ''}`}>
              <Table.Td className={classes.number}>{row.line}</Table.Td>
              <Table.Td className={classes.name}>{row.username || '–'}</Table.Td>
              <Table.Td>
                <StateChip {...RESULTS[row.result]} />
              </Table.Td>
              <Table.Td data-empty={!row.message}>
                {row.field && <code className={classes.field}>{row.field}</code>}{' '}
                {said(row.message)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}
