import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Table, Title } from '@mantine/core';
import { useId } from 'react';
import type { CatalogFile } from '@/api/types';
import { translate, translateExact } from '@/i18n/translate';
import { StateChip } from '@/ui/StateChip';
import classes from './CatalogPage.module.css';
import { usableText } from './catalogProblems';

/** A table of environments or templates: the file of each, and whether it can be used. */
export function CatalogTable({ title, items }: { title: string; items: CatalogFile[] }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <div className={classes.head}>
        <Title order={2} size="h4" id={id}>
          {title}
        </Title>
        <span className={classes.quiet}>{usableText(items)}</span>
      </div>
      <Paper className={classes.table} mt="sm">
        <Table verticalSpacing={6} horizontalSpacing="md" aria-labelledby={id}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>
                <Trans>Name</Trans>
              </Table.Th>
              <Table.Th>
                <Trans>Origin</Trans>
              </Table.Th>
              <Table.Th>
                <Trans>Availability</Trans>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {items.map((item) => (
              <Row key={item.name} item={item} />
            ))}
          </Table.Tbody>
        </Table>
      </Paper>
    </section>
  );
}

function Row({ item }: { item: CatalogFile }) {
  const site = item.origin === 'site';
  return (
    <Table.Tr>
      <Table.Td>
        <span className={classes.title}>{translateExact(item.title)}</span>{' '}
        <code className={classes.name}>{item.name}</code>
        {site && <div className={classes.path}>{item.file}</div>}
      </Table.Td>
      <Table.Td title={item.file}>{site ? t`Site` : t`Built-in`}</Table.Td>
      <Table.Td>
        {item.available ? (
          <StateChip tone="good" label={t`Available`} />
        ) : (
          <>
            <StateChip tone="waiting" label={t`Not available`} />
            <div className={classes.reason}>{translate(item.unavailable_reason)}</div>
          </>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
