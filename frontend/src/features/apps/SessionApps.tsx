import { t } from '@lingui/core/macro';
import { useQuery } from '@tanstack/react-query';
import { errorMessage } from '@/api/problem';
import type { App } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { NameIcon } from '@/ui/NameIcon';
import { StateChip } from '@/ui/StateChip';
import { TryAgain } from '@/ui/TryAgain';
import { AppActions } from './AppActions';
import { AppFailure } from './AppFailure';
import { appStateLabel, appsQuery } from './apps';
import classes from './SessionApps.module.css';

/** The apps that a running session offers: start, open, stop, and why one doesn't run. */
export function SessionApps({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(appsQuery(id));
  if (error && data === undefined)
    return <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />;
  if (data === undefined) return <p className={classes.note}>{t`Asking the session's node…`}</p>;
  if (data.items.length === 0)
    return <p className={classes.note}>{t`This session's environment offers no apps.`}</p>;
  return (
    <ul className={classes.apps} aria-label={t`Apps`}>
      {data.items.map((app) => (
        <li key={app.name}>
          <AppRow id={id} app={app} />
        </li>
      ))}
    </ul>
  );
}

function AppRow({ id, app }: { id: string; app: App }) {
  const failed = app.state === 'failed';
  const title = translateExact(app.title);
  const given = app.state === 'stopped' ? null : (app.file ?? app.command);
  return (
    <article className={classes.app} aria-label={title}>
      <div className={classes.head}>
        <NameIcon name={title} />
        <h3>{title}</h3>
        <span aria-live="polite">
          <StateChip {...appStateLabel(app.state)} />
        </span>
      </div>
      <p className={classes.note}>{given ?? translateExact(app.description)}</p>
      {failed && <AppFailure app={app} />}
      <AppActions id={id} app={app} />
    </article>
  );
}
