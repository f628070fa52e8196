import { t } from '@lingui/core/macro';
import { Title } from '@mantine/core';
import { useId } from 'react';
import type { CatalogFile } from '@/api/types';
import { translate, translateExact } from '@/i18n/translate';
import { CellNote, type Column, DataTable } from '@/ui/DataTable';
import { StateChip } from '@/ui/StateChip';
import classes from './CatalogPage.module.css';
import { availableText } from './catalogProblems';

/** A table of environments, templates or apps: the file of each, and whether it can be used. */
export function CatalogTable({ title, items }: { title: string; items: CatalogFile[] }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <div className={classes.head}>
        <Title order={2} size="h4" id={id}>
          {title}
        </Title>
        <span className={classes.quiet}>{availableText(items)}</span>
      </div>
      <DataTable label={title} columns={COLUMNS} rows={items} rowKey={({ name }) => name} />
    </section>
  );
}

const isOwn = ({ origin }: CatalogFile): boolean => origin === 'site';

const COLUMNS: Column<CatalogFile>[] = [
  {
    id: 'name',
    header: t`Name`,
    rowHeader: true,
    cell: (item) => (
      <>
        {translateExact(item.title)} <code className={classes.name}>{item.name}</code>
        {isOwn(item) && <CellNote>{item.file}</CellNote>}
      </>
    ),
  },
  {
    id: 'origin',
    header: t`Origin`,
    width: '7rem',
    narrowBeside: true,
    cell: (item) => <span title={item.file}>{isOwn(item) ? t`Site` : t`Built-in`}</span>,
  },
  {
    id: 'availability',
    header: t`Availability`,
    cell: (item) =>
      item.available ? (
        <StateChip tone="good" label={t`Available`} />
      ) : (
        <>
          <StateChip tone="waiting" label={t`Not available`} />
          <CellNote>{translate(item.unavailable_reason)}</CellNote>
        </>
      ),
  },
];
