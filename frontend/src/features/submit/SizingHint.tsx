import { Suspense } from 'react';
import type { Sizing } from '@/api/types';
import { lazyPart } from '@/ui/lazyPart';
import type { SizingProps } from './SizingNotice';

const SizingNotice = lazyPart(async () => (await import('./SizingNotice')).SizingNotice);

/** The suggestions of earlier runs, if there are any. */
export function SizingHint({
  sizing,
  ...rest
}: Omit<SizingProps, 'sizing'> & { sizing: Sizing | undefined }) {
  if (sizing === undefined || Object.keys(rest.resources.suggested.fields).length === 0)
    return null;
  return (
    <Suspense>
      <SizingNotice sizing={sizing} {...rest} />
    </Suspense>
  );
}
