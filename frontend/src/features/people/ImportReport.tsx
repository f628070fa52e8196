import { Button, Paper, Table } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { StateWords } from '@/features/sessions/words';
import { StateChip } from '@/ui/StateChip';
import { reportText, shownRows, type Which } from './csv';
import classes from './Import.module.css';
import type { ImportLine, PeopleImport } from './shapes';

const RESULTS: Record<ImportLine['result'], StateWords> = {
  error: { label: 'Mistake', tone: 'bad' },
  exists: { label: 'Exists already', tone: 'quiet' },
  would_create: { label: 'Would be created', tone: 'good' },
  created: { label: 'Created', tone: 'good' },
};

const AT_ONCE = 200;

/** What became of each line, or would: mistakes first. */
export function ImportReport({ run, children }: { run: PeopleImport; children?: ReactNode }) {
  const [which, setWhich] = useState<Which>('all');
  const [most, setMost] = useState(AT_ONCE);
  const rows = shownRows(run.rows, which);
  const filters: { value: Which; label: string; n: number }[] = [
    { value: 'all', label: 'All lines', n: run.total },
    { value: 'error', label: run.dry_run ? 'Mistakes' : 'Not created', n: run.failed },
    { value: 'exists', label: 'Exist already', n: run.exists },
    { value: 'fine', label: run.dry_run ? 'Would be created' : 'Created', n: run.created },
  ];
  return (
    <>
      <p className={classes.summary} role="status">
        {reportText(run)}
      </p>
      {children}
      <div className={classes.filters} role="toolbar" aria-label="Which lines">
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
            {label} ({n})
          </Button>
        ))}
      </div>
      {rows.length > 0 && <Lines rows={rows.slice(0, most)} />}
      {rows.length > most && (
        <div>
          <Button variant="default" onClick={() => setMost(most + AT_ONCE)}>
            Show more ({rows.length - most} are left)
          </Button>
        </div>
      )}
    </>
  );
}

function Lines({ rows }: { rows: ImportLine[] }) {
  return (
    <Paper className={classes.table}>
      <Table verticalSpacing={6} horizontalSpacing="md" aria-label="Lines of the file">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Line</Table.Th>
            <Table.Th>User name</Table.Th>
            <Table.Th>Result</Table.Th>
            <Table.Th>Why</Table.Th>
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
                {row.field && <code className={classes.field}>{row.field}</code>} {row.message}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}
