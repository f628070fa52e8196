import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import { ClusterPanel } from '@/features/cluster/ClusterPanel';
import { environmentsQuery } from '@/features/environments/queries';
import { keepDropped } from '@/lib/droppedFiles';
import { isClusterKnown } from '@/live/isClusterKnown';
import { useLive } from '@/live/store';
import { Notice } from '@/ui/Notice';
import { PageTitle } from '@/ui/PageTitle';
import { TryAgain } from '@/ui/TryAgain';
import { useDropArea } from '@/ui/useDropArea';
import { StartForm } from './StartForm';
import classes from './StartPage.module.css';
import { StartSkeleton } from './StartSkeleton';

const route = getRouteApi('/signed-in/start');

/** The page where sessions start. A file that is dropped on it starts a job instead. */
export function StartPage() {
  const environments = useQuery(environmentsQuery);
  const cluster = useLive((s) => s.cluster);
  const sessions = useLive((s) => s.sessions);
  const link = route.useSearch();
  const [startOvers, setStartOvers] = useState(0);
  const navigate = useNavigate();
  const drop = useDropArea(t`Drop to start a job with this file`, true, ({ files }) => {
    keepDropped([...files]);
    void navigate({ to: '/jobs/new' });
  });
  return (
    <div {...drop}>
      <div className={classes.top}>
        <PageTitle tab={t`Start a session`}>
          <Trans>Start a session</Trans>
        </PageTitle>
      </div>
      {environments.error && !environments.data ? (
        <TryAgain
          error={errorMessage(environments.error)}
          onRetry={() => void environments.refetch()}
        />
      ) : environments.data === undefined || cluster === null || sessions === null ? (
        <StartSkeleton aside={<ClusterPanel />} />
      ) : !isClusterKnown(cluster) ? (
        <Notice tone="warning">
          <Trans>
            Slurm has not responded yet, so no sessions can be started. This page continues
            automatically as soon as it responds.
          </Trans>
        </Notice>
      ) : environments.data.length === 0 ? (
        <Notice tone="warning">
          <Trans>
            This site has no environments yet, so no sessions can be started. Ask your
            administrators.
          </Trans>
        </Notice>
      ) : (
        // A new link resets the form, and so does starting over.
        <StartForm
          key={JSON.stringify([link, startOvers])}
          environments={environments.data}
          link={link}
          onStartOver={() => setStartOvers(startOvers + 1)}
          aside={<ClusterPanel />}
        />
      )}
    </div>
  );
}
