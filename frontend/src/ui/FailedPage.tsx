import type { ReactNode } from 'react';
import { PageTitle } from './PageTitle';
import { TryAgain } from './TryAgain';

interface Props {
  /** the link to the page above */
  back: ReactNode;
  title: string;
  error: string;
  onRetry: () => void;
}

/** A page whose content could not be fetched. */
export function FailedPage({ back, title, error, onRetry }: Props) {
  return (
    <>
      {back}
      <PageTitle tab={title}>{title}</PageTitle>
      <TryAgain error={error} onRetry={onRetry} />
    </>
  );
}
