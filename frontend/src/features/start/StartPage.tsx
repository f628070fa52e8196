import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { sentence } from '@/api/problem';
import { PageTitle } from '@/app/PageTitle';
import { environmentsQuery } from '@/app/queries';
import { ClusterPanel } from '@/features/cluster/ClusterPanel';
import { isKnown } from '@/features/cluster/nodes';
import { useLive } from '@/live/store';
import { Notice } from '@/ui/Notice';
import { StartForm } from './StartForm';
import classes from './StartPage.module.css';

export function StartPage() {
  const environments = useQuery(environmentsQuery);
  const cluster = useLive((s) => s.cluster);
  return (
    <>
      <div className={classes.top}>
        <PageTitle tab="Start a session">Start a session</PageTitle>
      </div>
      <div className={classes.columns}>
        {environments.error ? (
          <Notice tone="error">{sentence(environments.error)}</Notice>
        ) : environments.data === undefined || cluster === null ? (
          <Skeleton height={360} radius="lg" aria-label="Loading" />
        ) : !isKnown(cluster) ? (
          <Notice tone="warning">
            Slurm has not answered yet, so nothing can be started just now. This page goes on by
            itself as soon as it does.
          </Notice>
        ) : (
          <StartForm environments={environments.data} />
        )}
        <ClusterPanel />
      </div>
    </>
  );
}
