import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { lazyPart } from '@/ui/lazyPart';
import { catalogAppsQuery } from './apps';
import { appsForFile } from './forFile';

const OpenAsAppDialog = lazyPart(async () => (await import('./OpenAsAppDialog')).OpenAsAppDialog);

interface Props {
  /** absolute, on the cluster */
  path: string;
  size?: 'sm';
}

/** A button that opens a file in an app; nothing for files that no app of the site opens. */
export function OpenAsApp({ path, size }: Props) {
  const [asking, setAsking] = useState(false);
  const { data } = useQuery(catalogAppsQuery);
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (appsForFile(data ?? [], name).length === 0) return null;
  return (
    <>
      <Button variant="default" {...(size && { size })} onClick={() => setAsking(true)}>
        <Trans>Open as app…</Trans>
      </Button>
      {asking && (
        <Suspense>
          <OpenAsAppDialog path={path} name={name} onClose={() => setAsking(false)} />
        </Suspense>
      )}
    </>
  );
}
