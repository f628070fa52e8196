import { Paper, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { sentence } from '@/api/problem';
import { PageTitle } from '@/app/PageTitle';
import { useMe } from '@/features/account/useMe';
import { GroupLimits } from '@/features/limits/GroupLimits';
import classes from '@/features/people/Person.module.css';
import { GroupUsage } from '@/features/usage/GroupUsage';
import { Notice } from '@/ui/Notice';
import { Members } from './Members';
import { ledGroupQuery } from './queries';
import { sizeText } from './words';

/** A group as those see it who lead it: its members, what they use, what they may. */
export function LedGroupPage() {
  const me = useMe();
  const { group } = useParams({ from: '/member/groups/$group' });
  const { data, error } = useQuery(ledGroupQuery(group));
  return (
    <div className={classes.page}>
      <PageTitle tab={`Group ${group}`}>Group {group}</PageTitle>
      {error && <Notice tone="error">{sentence(error)}</Notice>}
      {!data && !error && <Skeleton height={240} radius="lg" aria-label="Loading" />}
      {data && (
        <>
          <p className={classes.line}>
            {sizeText(data.members.length)}
            {data.description && `. ${data.description}`}
          </p>
          <GroupLimits group={group} change={me.role !== 'viewer'} />
          <GroupUsage group={group} />
          <Paper component="details" className={classes.fold}>
            <summary>Everyone in the group</summary>
            <p className={classes.quiet}>
              Who is in the group is decided by administrators: ask them to add somebody or take
              somebody out.
            </p>
            <Members group={group} members={data.members} />
          </Paper>
        </>
      )}
    </div>
  );
}
