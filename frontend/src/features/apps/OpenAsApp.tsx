import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useCallback, useState } from 'react';
import { DialogShell } from '@/ui/ConfirmDialog';
import { FormSkeleton } from '@/ui/FormSkeleton';
import { lazyPart } from '@/ui/lazyPart';
import { catalogAppsQuery } from './apps';
import { appsForFile } from './forFile';

const OpenAsAppForm = lazyPart(async () => (await import('./OpenAsAppForm')).OpenAsAppForm);

// shape, number of fields
const FORM = [['wide', 1]] as const;

interface Props {
  /** absolute, on the cluster */
  path: string;
  size?: 'sm';
}

/** A button that opens a file in an app; nothing for files that no app of the site opens. */
export function OpenAsApp({ path, size }: Props) {
  const [asking, setAsking] = useState(false);
  const { data } = useQuery(catalogAppsQuery);
  const close = useCallback(() => setAsking(false), []);
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (appsForFile(data ?? [], name).length === 0) return null;
  return (
    <>
      <Button variant="default" {...(size && { size })} onClick={() => setAsking(true)}>
        <Trans>Open as app…</Trans>
      </Button>
      <DialogShell opened={asking} onClose={close} title={t`Open ${name} as an app`}>
        <Suspense fallback={<FormSkeleton groups={FORM} bare />}>
          <OpenAsAppForm path={path} name={name} onClose={close} />
        </Suspense>
      </DialogShell>
    </>
  );
}
