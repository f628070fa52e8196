import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorMessage } from '@/api/problem';
import type { Catalog } from '@/api/types';
import { translate } from '@/i18n/translate';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { TryAgain } from '@/ui/TryAgain';
import { AdminFrame } from './AdminFrame';
import classes from './CatalogPage.module.css';
import { CatalogTable } from './CatalogTable';
import { parseProblem } from './catalogProblems';
import { catalogQuery } from './queries';

/** The catalog as loaded from its files, for administrators: problems first. */
export function CatalogPage() {
  return (
    <AdminFrame tab={t`Catalog`} title={t`Catalog`}>
      <WholeCatalog />
    </AdminFrame>
  );
}

function WholeCatalog() {
  const { data, error, refetch } = useQuery(catalogQuery);
  return (
    <>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <ListSkeleton rows={6} />}
      {data && (
        <div className={classes.sections}>
          <Problems lines={data.problems} />
          <CatalogTable title={t`Environments`} items={data.environments} />
          <CatalogTable title={t`Templates`} items={data.templates} />
          <CatalogTable title={t`Apps`} items={data.apps} />
        </div>
      )}
    </>
  );
}

function Problems({ lines }: { lines: Catalog['problems'] }) {
  return (
    <section aria-labelledby="problems">
      <Title order={2} size="h4" id="problems">
        <Trans>Errors in files</Trans>
      </Title>
      {lines.length === 0 ? (
        <Paper className={classes.note} mt="sm">
          <Trans>
            All files are in order. A changed file is read again within seconds, without a restart.
          </Trans>
        </Paper>
      ) : (
        <>
          <p className={classes.quiet}>
            <Trans>
              A file with an error stays in use in its earlier version; a new file isn't offered
              until it is corrected. Correct and save it: it is read again within seconds.
            </Trans>
          </p>
          <ul className={classes.list}>
            {lines.map((line) => (
              <Problem key={line} line={line} />
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Problem({ line }: { line: string }) {
  const { name, file, field, message } = parseProblem(line);
  return (
    <Paper component="li" className={classes.problem}>
      <div className={classes.where}>
        {name || t`Catalog`}
        {field && <code className={classes.field}>{field}</code>}
      </div>
      <div className={classes.what}>{translate(message)}</div>
      {file && <div className={classes.path}>{file}</div>}
    </Paper>
  );
}
