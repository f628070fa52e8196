import { Trans } from '@lingui/react/macro';
import { Button, Group } from '@mantine/core';
import { type ComponentType, createElement, lazy, useEffect, useSyncExternalStore } from 'react';
import { Notice } from './Notice';

/**
 * Like React's `lazy`, for an optional part of a page, such as a chart: if its module can't be loaded,
 * a notice takes its place, where `lazy` would have the error replace the whole page. Trying again
 * does so for all places of the part.
 */
export function lazyPart<P extends object>(
  load: () => Promise<ComponentType<P>>,
): ComponentType<P> {
  const places = new Set<() => void>();
  let failed = false;
  const attempt = () =>
    lazy(async (): Promise<{ default: ComponentType<P> }> => {
      try {
        return { default: await load() };
      } catch {
        failed = true;
        return { default: () => <MissingPart onRetry={retry} /> };
      }
    });
  let current = attempt();

  function retry(): void {
    if (!failed) return; // another place was first
    failed = false;
    current = attempt();
    for (const update of places) update();
  }
  const subscribe = (update: () => void): (() => void) => {
    places.add(update);
    return () => void places.delete(update);
  };
  const now = (): typeof current => current;
  return function Part(props: P) {
    return createElement(useSyncExternalStore(subscribe, now, now), props);
  };
}

function MissingPart({ onRetry }: { onRetry: () => void }) {
  useEffect(() => {
    window.addEventListener('online', onRetry);
    return () => window.removeEventListener('online', onRetry);
  }, [onRetry]);
  return (
    <Notice tone="warning">
      <Group gap="xs">
        <Trans>This part of the page couldn't be loaded. If it still fails, reload the page.</Trans>
        <Button variant="default" size="compact-sm" onClick={onRetry}>
          <Trans>Try again</Trans>
        </Button>
      </Group>
    </Notice>
  );
}
