import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { errorMessage } from '@/api/problem';
import type { components } from '@/api/schema';
import { spaceQuery } from '@/features/files/queries';
import { SpaceLeft } from '@/features/files/SpaceLeft';
import { roomOf } from '@/features/files/sizes';
import { usageText as textOfUse } from '@/features/limits/labels';
import { myLimitsQuery } from '@/features/limits/queries';
import { UsageBars } from '@/features/limits/UsageBars';
import { bars } from '@/features/limits/usage';
import { translate, translateExact } from '@/i18n/translate';
import { queryClient } from '@/lib/queries';
import { useThrottledChange } from '@/lib/useThrottledChange';
import { isActive } from '@/live/reducer';
import { useLive } from '@/live/store';
import classes from './UsageAndStorage.module.css';

const refetchLimits = () => queryClient.invalidateQueries({ queryKey: myLimitsQuery.queryKey });

/** Refetch when a session or job starts or ends, so that the figures match the page. */
function useRefetchOnStartOrEnd(): void {
  const liveItems = useLive(({ sessions, jobs }) =>
    sessions === null || jobs === null
      ? undefined
      : [...sessions, ...jobs]
          .filter(isActive)
          .map(({ id, state }) => `${id} ${state}`)
          .join(),
  );
  useThrottledChange(liveItems, refetchLimits);
}

/** The user's usage and limits. */
export function CurrentUsage() {
  const { data, error } = useQuery(myLimitsQuery);
  useRefetchOnStartOrEnd();
  return (
    <Paper component="section" className={classes.panel} aria-labelledby="my-use">
      <h2 className={classes.heading} id="my-use">
        <Trans>Your current usage</Trans>
      </h2>
      {data ? (
        <>
          <p className={classes.now}>{textOfUse(data.use)}</p>
          {bars(data.effective, data.use).some((bar) => bar.limited) ? (
            <UsageBars effective={data.effective} use={data.use} user={data.username} onlyLimited />
          ) : (
            <p className={classes.quiet}>
              <Trans>No limits are set for you in this portal.</Trans>
            </p>
          )}
        </>
      ) : error ? (
        <p className={classes.quiet}>{errorMessage(error)}</p>
      ) : (
        <Skeleton height={90} aria-label={t`Loading`} />
      )}
      <p className={classes.foot}>
        <Link to="/account/$section" params={{ section: 'limits' }}>
          <Trans>All your limits and usage</Trans>
        </Link>
      </p>
    </Paper>
  );
}

/** The user's storage, by root. */
export function StorageSpace() {
  const { data, error } = useQuery(spaceQuery);
  return (
    <Paper component="section" className={classes.panel} aria-labelledby="my-space">
      <h2 className={classes.heading} id="my-space">
        <Trans>Storage</Trans>
      </h2>
      {data ? (
        <ul className={classes.places}>
          {data.items.map((root) => (
            <RootStorage key={root.name} root={root} />
          ))}
        </ul>
      ) : error ? (
        <p className={classes.quiet}>{errorMessage(error)}</p>
      ) : (
        <Skeleton height={50} aria-label={t`Loading`} />
      )}
      <p className={classes.foot}>
        <Link to="/files">
          <Trans>Your files</Trans>
        </Link>
      </p>
    </Paper>
  );
}

function RootStorage({ root }: { root: components['schemas']['RootSpaceOut'] }) {
  const room = roomOf(root);
  return (
    <li>
      <p className={classes.name}>{translateExact(root.title)}</p>
      {root.problem !== null || room === null ? (
        <p className={classes.quiet}>{translate(root.problem) ?? '–'}</p>
      ) : (
        <SpaceLeft title={translateExact(root.title)} space={root} />
      )}
      {room?.level === 'full' && (
        <p className={classes.full}>
          <Trans>It is full. Delete something, or sessions and jobs will fail.</Trans>
        </p>
      )}
    </li>
  );
}
