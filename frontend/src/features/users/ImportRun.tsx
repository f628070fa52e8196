import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Button, Group, Paper, Skeleton } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { ApiError, errorMessage } from '@/api/problem';
import { USERS_KEY } from '@/features/directory/queries';
import { translate } from '@/i18n/translate';
import { download } from '@/lib/download';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { Notice } from '@/ui/Notice';
import { TryAgain } from '@/ui/TryAgain';
import { useReauthAction } from '@/ui/useReauthAction';
import { passwordsFile } from './csv';
import classes from './Import.module.css';
import { ImportProgress } from './ImportProgress';
import { ImportReport } from './ImportReport';
import { importQuery, takePasswords } from './imports';
import type { FirstPassword, UserImport } from './types';

/** An import that creates users: its progress, the report, and the passwords, shown once. */
export function ImportRun({ id }: { id: string }) {
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery(importQuery(id));
  const ended = data !== undefined && data.state !== 'running';
  useEffect(() => {
    if (ended) void queries.invalidateQueries({ queryKey: USERS_KEY });
  }, [ended, queries]);
  return (
    <div className={classes.page}>
      {error instanceof ApiError && error.status === 404 ? (
        <Notice tone="warning" urgent>
          {errorMessage(error)}
        </Notice>
      ) : (
        error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />
      )}
      {!data && !error && <Skeleton height={160} radius="lg" aria-label={t`Loading`} />}
      {data?.state === 'running' && <ImportProgress run={data} />}
      {data && ended && <Ended run={data} />}
      <Group>
        {data?.state !== 'running' && (
          <Button component={Link} to="/admin/new/users" variant="default">
            <Trans>Import another file</Trans>
          </Button>
        )}
        <Button component={Link} to="/admin/users" variant="default">
          <Trans>Show everyone</Trans>
        </Button>
      </Group>
    </div>
  );
}

function Ended({ run }: { run: UserImport }) {
  return (
    <>
      {run.problem && <Notice tone="error">{translate(run.problem)}</Notice>}
      <Passwords run={run} />
      <ImportReport run={run} />
    </>
  );
}

function Passwords({ run }: { run: UserImport }) {
  const admin = mayChange(useMe());
  const { busy, change } = useReauthAction();
  const [taken, setTaken] = useState<FirstPassword[] | null>(null);
  if (!admin || run.dry_run || (run.passwords === 0 && taken === null)) return null;
  const save = (passwords: FirstPassword[]): void =>
    download('one-time-passwords.csv', passwordsFile(passwords), 'text/csv');
  const fetchPasswords = async (): Promise<void> => {
    const passwords = await takePasswords(run.id);
    setTaken(passwords);
    save(passwords);
  };
  const count = taken?.length;
  return (
    <Paper className={classes.form}>
      <h2 className={classes.heading}>
        <Trans>One-time passwords</Trans>
      </h2>
      {taken === null ? (
        <>
          <p className={classes.text}>
            <Plural
              value={run.passwords}
              one="# user can log in with a one-time password. You can download the passwords once, within two hours; then they are deleted."
              other="# users can log in with a one-time password each. You can download the passwords once, within two hours; then they are deleted."
            />
          </p>
          <div>
            <Button loading={busy} onClick={() => change(fetchPasswords)}>
              <Trans>Download the passwords</Trans>
            </Button>
          </div>
        </>
      ) : (
        <>
          <p className={classes.text}>
            <Trans>
              The file contains {count} passwords. Give each to its user in a way that no one else
              can read it, then delete the file. The passwords are no longer available after you
              leave this page.
            </Trans>
          </p>
          <div>
            <Button variant="default" onClick={() => save(taken)}>
              <Trans>Download again</Trans>
            </Button>
          </div>
        </>
      )}
    </Paper>
  );
}
