import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { errorMessage } from '@/api/problem';
import type { Notebook } from '@/api/types';
import { environmentsQuery } from '@/features/environments/queries';
import { translate } from '@/i18n/translate';
import { Fold } from '@/ui/Fold';
import { Icon } from '@/ui/icons';
import { Time } from '@/ui/Time';
import classes from './Notebooks.module.css';
import { notebookSearch } from './notebookLink';

/** Notebooks shown before "Show all". */
const INITIALLY_SHOWN = 6;

const notebooksQuery = (id: string) =>
  queryOptions({
    queryKey: ['notebooks', id],
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/sessions/{session_id}/notebooks', {
          params: { path: { session_id: id } },
        }),
      ),
    staleTime: 0,
    retry: false,
  });

/** The owner's notebooks, each with a link to the form that runs it as a job. */
export function Notebooks({ id }: { id: string }) {
  const [open, setOpen] = useState(false);
  const { data, error, isFetching, refetch } = useQuery({ ...notebooksQuery(id), enabled: open });
  return (
    <Fold
      className={classes.notebooks}
      summary={t`Run a notebook as a job`}
      open={open}
      onToggle={setOpen}
    >
      <p className={classes.note}>
        {data && data.items.length > 0
          ? t`A job keeps running without a browser and saves the executed copy. Your recently changed notebooks:`
          : t`A job keeps running without a browser and saves the executed copy.`}
      </p>
      <div role="status">
        {error && !isFetching && <p className={classes.problem}>{errorMessage(error)}</p>}
        {data === undefined && isFetching && (
          <p className={classes.note}>{t`Searching your home directory…`}</p>
        )}
        {data?.items.length === 0 && (
          <p className={classes.note}>
            {data.complete
              ? t`There are no notebooks in your home directory yet. Save one in JupyterLab, then refresh.`
              : t`No notebooks were found, but not all of your home directory was searched.`}
          </p>
        )}
      </div>
      {data && data.items.length > 0 && <List items={data.items} />}
      <p className={classes.foot}>
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          leftSection={<Icon name="again" size={15} />}
          loading={isFetching}
          onClick={() => void refetch()}
        >
          <Trans>Refresh</Trans>
        </Button>
        <WithoutNotebook complete={data?.complete ?? true}>
          <Trans>Another notebook…</Trans>
        </WithoutNotebook>
      </p>
    </Fold>
  );
}

function List({ items }: { items: Notebook[] }) {
  const [all, setAll] = useState(false);
  const count = items.length;
  const environments = useQuery(environmentsQuery).data ?? [];
  const title = (name: string | null): string | undefined =>
    translate(environments.find((environment) => environment.name === name)?.title);
  return (
    <>
      <ul className={classes.list} aria-label={t`Notebooks`}>
        {(all ? items : items.slice(0, INITIALLY_SHOWN)).map((notebook) => (
          <li key={notebook.path}>
            <span className={classes.about}>
              <span className={classes.path}>{notebook.path}</span>
              <span className={classes.note}>
                <Time at={notebook.changed_at} />
                {title(notebook.environment) && ` · ${title(notebook.environment)}`}
              </span>
            </span>
            <Button
              renderRoot={(props) => (
                <Link to="/jobs/new" search={notebookSearch(notebook)} {...props} />
              )}
              size="compact-sm"
              variant="default"
              aria-label={t`Run ${{ notebook: notebook.path }} as a job`}
              leftSection={<Icon name="play" size={15} />}
            >
              <Trans>Run as a job</Trans>
            </Button>
          </li>
        ))}
      </ul>
      {!all && count > INITIALLY_SHOWN && (
        <Button size="compact-sm" variant="subtle" onClick={() => setAll(true)}>
          <Trans>Show all {count}</Trans>
        </Button>
      )}
    </>
  );
}

/** A link to the same form without a notebook. */
function WithoutNotebook({ complete, children }: { complete: boolean; children: ReactNode }) {
  return (
    <Link to="/jobs/new" search={{ template: 'notebook' }} className={classes.another}>
      {complete ? children : t`Not all of your home directory was searched: another notebook…`}
    </Link>
  );
}
