import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { errorMessage } from '@/api/problem';
import { GroupLimits } from '@/features/limits/GroupLimits';
import { GroupUsage } from '@/features/usage/GroupUsage';
import { useMe } from '@/lib/useMe';
import classes from '@/ui/DetailPage.module.css';
import { PageSkeleton } from '@/ui/PageSkeleton';
import { PageTitle } from '@/ui/PageTitle';
import { TryAgain } from '@/ui/TryAgain';
import { memberCountText } from './labels';
import { Members } from './Members';
import { managedGroupQuery } from './queries';

/** A group as its managers see it: its members, their usage and limits. */
export function ManagedGroupPage() {
  const me = useMe();
  const { group } = useParams({ from: '/signed-in/groups/$group' });
  const { data, error, refetch } = useQuery(managedGroupQuery(group));
  const size = memberCountText(data?.members.length ?? null);
  const about = data?.description;
  return (
    <div className={classes.page}>
      <PageTitle tab={t`Group ${group}`}>
        <Trans>Group {group}</Trans>
      </PageTitle>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <PageSkeleton />}
      {data && (
        <>
          <p className={classes.line}>
            {about ? (
              <Trans>
                {size}. {about}
              </Trans>
            ) : (
              size
            )}
          </p>
          <GroupLimits group={group} change={me.role !== 'viewer'} />
          <GroupUsage group={group} />
          <Paper component="details" className={classes.fold}>
            <summary>
              <Trans>Everyone in the group</Trans>
            </summary>
            <p className={classes.quiet}>
              <Trans>
                Administrators manage the members of the group. Ask them to add or remove users.
              </Trans>
            </p>
            <Members group={group} members={data.members} />
          </Paper>
        </>
      )}
    </div>
  );
}
