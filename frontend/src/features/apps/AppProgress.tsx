import { t } from '@lingui/core/macro';
import { Group, Loader, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { App } from '@/api/types';
import { Notice } from '@/ui/Notice';
import { AppFailure } from './AppFailure';

interface Props {
  title: string;
  /** why the portal refused to start it */
  refusal: string | null;
  waiting: boolean;
  /** the app, if its start is over without success */
  ended: App | null;
  /** announced too */
  children?: ReactNode;
}

/** The progress of an app's start, or why it doesn't run. */
export function AppProgress({ title, refusal, waiting, ended, children }: Props) {
  return (
    <>
      {refusal && <Notice tone="error">{refusal}</Notice>}
      {ended?.state === 'failed' && <AppFailure app={ended} />}
      {ended?.state === 'stopped' && (
        <Notice tone="error">{t`It was stopped before it was ready.`}</Notice>
      )}
      <Group role="status" gap="sm">
        {waiting && (
          <>
            <Loader size="sm" aria-hidden="true" />
            <Text size="sm">{t`${title} is starting…`}</Text>
          </>
        )}
        {children}
      </Group>
    </>
  );
}
