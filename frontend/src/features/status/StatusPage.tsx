import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorMessage } from '@/api/problem';
import type { SystemStatus } from '@/api/types';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { joinWithCommas } from '@/i18n/lists';
import { translate } from '@/i18n/translate';
import { duration } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { Notice } from '@/ui/Notice';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { TryAgain } from '@/ui/TryAgain';
import { answerText, overall, partName, partStateLabel, purpose, worstFirst } from './labels';
import { STATUS_MS, statusQuery } from './queries';
import classes from './Status.module.css';

/** Status older than this is marked as stale. */
const STALE_MS = 4 * STATUS_MS;

/** The state of each part of the system, for administrators. */
export function StatusPage() {
  return (
    <AdminFrame tab={t`Status`} title={t`Status`}>
      <Status />
    </AdminFrame>
  );
}

function Status() {
  const { data, error, dataUpdatedAt, refetch } = useQuery(statusQuery);
  return (
    <>
      {error && !data && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <ListSkeleton />}
      {data && (
        <>
          <Age at={dataUpdatedAt} error={error} />
          <Parts status={data} />
        </>
      )}
    </>
  );
}

/** A note that the displayed status is stale. */
function Age({ at, error }: { at: number; error: Error | null }) {
  useNow();
  const age = Date.now() - at;
  if (error === null && age < STALE_MS) return null;
  const old = duration(age);
  const problem = error && errorMessage(error);
  return (
    <div className={classes.stale}>
      <Notice tone="warning" urgent>
        {problem === null ? (
          <Trans>
            The data shown is {old} old. The portal has not responded to the last request yet.
          </Trans>
        ) : (
          <Trans>
            The data shown is {old} old. {problem}
          </Trans>
        )}
      </Notice>
    </div>
  );
}

function Parts({ status }: { status: SystemStatus }) {
  const all = overall(status.items);
  const { version, slurm_version: slurm, hub_version: hub } = status;
  const versions = joinWithCommas([
    t`Portal ${version}`,
    ...(slurm ? [`Slurm ${slurm}`] : []),
    ...(hub ? [`JupyterHub ${hub}`] : []),
  ]);
  const seconds = STATUS_MS / 1000;
  return (
    <>
      <div className={classes.overall} role="status">
        <StateChip {...all} />
      </div>
      <ul className={classes.parts}>
        {worstFirst(status.items).map((item) => (
          <Part key={`${item.part} ${item.name}`} item={item} />
        ))}
      </ul>
      <p className={classes.quiet}>
        <Trans>
          {versions}. The portal has been running since <Time at={status.started_at} />. This page
          refreshes every {seconds} seconds.
        </Trans>
      </p>
    </>
  );
}

function Part({ item }: { item: SystemStatus['items'][number] }) {
  const now = useNow();
  return (
    <Paper component="li" className={classes.part}>
      <div className={classes.head}>
        <h2>{partName(item)}</h2>
        <StateChip {...partStateLabel(item.state)} />
      </div>
      <p className={classes.quiet}>{purpose(item.part)}</p>
      <p className={classes.quiet}>{answerText(item, now)}</p>
      {item.message && (
        <p className={item.state === 'failing' ? classes.bad : classes.message}>
          {translate(item.message)}
        </p>
      )}
      {item.suggestion && <p className={classes.message}>{translate(item.suggestion)}</p>}
    </Paper>
  );
}
