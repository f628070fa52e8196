import { t } from '@lingui/core/macro';
import { Paper, Skeleton, Table, Title, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';
import { sentence } from '@/api/problem';
import classes from '@/ui/AccountSection.module.css';
import { Notice } from '@/ui/Notice';

interface SectionProps {
  id: string;
  title: ReactNode;
  /** The button beside the title. */
  action: ReactNode;
  loading: boolean;
  error: Error | null;
  children: ReactNode;
}

/** A section of the account page that lists what the user holds. */
export function ListSection({ id, title, action, loading, error, children }: SectionProps) {
  return (
    <Paper className={classes.section} component="section" aria-labelledby={id}>
      <div className={classes.top}>
        <Title order={2} size="h4" id={id}>
          {title}
        </Title>
        {action}
      </div>
      {error && <Notice tone="error">{sentence(error)}</Notice>}
      {loading && !error && <Skeleton height={60} aria-label={t`Loading`} />}
      {children}
    </Paper>
  );
}

interface Column {
  id: string;
  header: ReactNode;
}

/** A table whose last column holds each row's action. */
export function ActionTable({ columns, children }: { columns: Column[]; children: ReactNode }) {
  return (
    <Table.ScrollContainer minWidth={560}>
      <Table verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ id, header }) => (
              <Table.Th key={id}>{header}</Table.Th>
            ))}
            <Table.Th>
              <VisuallyHidden>{t`Actions`}</VisuallyHidden>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
