import { Paper, Table, Title } from '@mantine/core';
import { useId } from 'react';
import type { CatalogFile } from '@/api/types';
import { StateChip } from '@/ui/StateChip';
import classes from './CatalogPage.module.css';
import { usable } from './catalog';

/** Environments or templates: where each comes from, and whether it can be used. */
export function CatalogTable({ title, items }: { title: string; items: CatalogFile[] }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <div className={classes.head}>
        <Title order={2} size="h4" id={id}>
          {title}
        </Title>
        <span className={classes.quiet}>{usable(items)}</span>
      </div>
      <Paper className={classes.table} mt="sm">
        <Table verticalSpacing={6} horizontalSpacing="md" aria-labelledby={id}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Name</Table.Th>
              <Table.Th>Origin</Table.Th>
              <Table.Th>Can it be used?</Table.Th>
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
        <span className={classes.title}>{item.title}</span>{' '}
        <code className={classes.name}>{item.name}</code>
        {site && <div className={classes.path}>{item.file}</div>}
      </Table.Td>
      <Table.Td title={item.file}>{site ? "This site's" : 'Shipped'}</Table.Td>
      <Table.Td>
        {item.available ? (
          <StateChip tone="good" label="Available" />
        ) : (
          <>
            <StateChip tone="waiting" label="Not available" />
            <div className={classes.reason}>{item.unavailable_reason}</div>
          </>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
