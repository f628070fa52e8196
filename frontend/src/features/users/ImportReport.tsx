import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Table } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { translate } from '@/i18n/translate';
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
      <div className={classes.filters} role="toolbar" aria-label={t`Which lines`}>
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
              <Trans>Login group</Trans>
            </Table.Th>
            <Table.Th>
              <Trans>Slurm account</Trans>
            </Table.Th>
            <Table.Th>
              <Trans>Notes</Trans>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={row.line}>
              <Table.Td className={classes.number}>{row.line}</Table.Td>
              <Table.Td className={classes.name}>{row.username || '–'}</Table.Td>
              <Table.Td>
                <StateChip {...RESULTS[row.result]} />
              </Table.Td>
              <Table.Td data-empty={row.login_group === null} data-says={t`Login group:`}>
                {row.login_group ?? '–'}
              </Table.Td>
              <Table.Td data-empty={row.slurm_account === null} data-says={t`Slurm account:`}>
                {row.slurm_account ?? '–'}
              </Table.Td>
              <Table.Td data-empty={!hasNotes(row)}>
                <Notes row={row} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

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
        <StateChip tone="waiting" label={t`Can’t log in: in no login group`} />
      )}
      {isCreated(row) && row.role !== null && row.role !== 'user' && (
        <StateChip tone="bad" label={roleText(row.role, true)} />
      )}
    </div>
  );
}
