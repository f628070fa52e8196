import { t } from '@lingui/core/macro';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { translateExact } from '@/i18n/translate';
import { NameIcon } from '@/ui/NameIcon';
import { appsQuery } from './apps';
import classes from './SessionApps.module.css';

/** Less often than on the page of its apps: many of these may be shown at once. */
const REFRESH_MS = 60_000;

/** Links to the running apps of a session; nothing without one, or while its server doesn't answer. */
export function RunningApps({ id, session }: { id: string; session: string }) {
  const { data } = useQuery({ ...appsQuery(id), refetchInterval: REFRESH_MS, retry: false });
  const running = data?.items.filter(({ url }) => url !== null) ?? [];
  if (running.length === 0) return null;
  return (
    <ul className={classes.links} aria-label={t`Running apps of ${session}`}>
      {running.map(({ name, title, url }) => (
        <li key={name}>
          <Button
            component="a"
            href={url ?? undefined}
            target="_blank"
            rel="noopener"
            variant="default"
            size="compact-sm"
            leftSection={<NameIcon name={translateExact(title)} small />}
          >
            {t`Open ${{ app: translateExact(title) }}`}
          </Button>
        </li>
      ))}
    </ul>
  );
}
