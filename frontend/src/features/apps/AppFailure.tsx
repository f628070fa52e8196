import { t } from '@lingui/core/macro';
import type { App } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { Notice } from '@/ui/Notice';
import classes from './SessionApps.module.css';

/** The reason why an app failed, and the last lines that it wrote. */
export function AppFailure({ app }: { app: Pick<App, 'problem' | 'log'> }) {
  return (
    <>
      {app.problem && <Notice tone="error">{translateExact(app.problem)}</Notice>}
      {app.log.length > 0 && (
        <section aria-label={t`Last output`}>
          <pre className={classes.log}>{app.log.join('\n')}</pre>
        </section>
      )}
    </>
  );
}
