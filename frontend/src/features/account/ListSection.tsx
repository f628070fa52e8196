import { t } from '@lingui/core/macro';
import { Paper, Skeleton, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { errorMessage } from '@/api/problem';
import classes from '@/ui/AccountSection.module.css';
import { TryAgain } from '@/ui/TryAgain';

interface SectionProps {
  id: string;
  title: ReactNode;
  /** The button beside the title. */
  action: ReactNode;
  loading: boolean;
  error: Error | null;
  onRetry: () => void;
  children: ReactNode;
}

/** A section of the account page that lists what the user holds. */
export function ListSection({
  id,
  title,
  action,
  loading,
  error,
  onRetry,
  children,
}: SectionProps) {
  return (
    <Paper className={classes.section} component="section" aria-labelledby={id}>
      <div className={classes.top}>
        <Title order={2} size="h4" id={id}>
          {title}
        </Title>
        {action}
      </div>
      {error && <TryAgain error={errorMessage(error)} onRetry={onRetry} />}
      {loading && !error && <Skeleton height={60} aria-label={t`Loading`} />}
      {children}
    </Paper>
  );
}
