import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, NativeSelect, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { Session } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { keepsRunning } from '@/live/keepsRunning';
import { useLive } from '@/live/store';
import { FormSkeleton } from '@/ui/FormSkeleton';
import { TryAgain } from '@/ui/TryAgain';
import { AppStart } from './AppStart';
import { appsQuery } from './apps';
import { appsForFile } from './forFile';

// shape, number of fields
const FORM = [['wide', 1]] as const;

interface Props {
  /** absolute, on the cluster */
  path: string;
  name: string;
  onClose: () => void;
}

/** The content of a dialog that asks in which session and app to open a file, starts the app and opens
 * its page. */
export function OpenAsAppForm({ path, name, onClose }: Props) {
  const [id, setId] = useState<string | null>(null);
  // The chosen one has run before, so it stays listed while it restarts.
  const sessions = useLive((s) => s.sessions)?.filter((each) => keepsRunning(each, each.id === id));
  const newest = sessions?.[0]?.id ?? null;
  // A session that becomes the newest one later must not take the place of the shown one.
  useEffect(() => setId((shown) => shown ?? newest), [newest]);
  const chosen = sessions?.find((session) => session.id === id);
  if (sessions === undefined) return <FormSkeleton groups={FORM} bare />;
  if (sessions.length === 0) return <NoSession />;
  return (
    <Stack>
      {(sessions.length > 1 || !chosen) && (
        <NativeSelect
          label={t`Session`}
          value={chosen?.id ?? ''}
          onChange={({ currentTarget }) => setId(currentTarget.value)}
          data={[
            ...(chosen ? [] : [{ value: '', label: t`Choose a running session` }]),
            ...sessions.map((session) => ({
              value: session.id,
              label: `${session.name} (${translateExact(session.environment_title)})`,
            })),
          ]}
        />
      )}
      {chosen && (
        <AppChoice key={chosen.id} session={chosen} path={path} name={name} onClose={onClose} />
      )}
    </Stack>
  );
}

function NoSession() {
  return (
    <Stack align="flex-start">
      <Text size="sm">
        <Trans>Apps run in a session, and none of yours is running.</Trans>
      </Text>
      <Button component={Link} to="/start">
        <Trans>Start a session</Trans>
      </Button>
    </Stack>
  );
}

/** The session's apps that open the file. */
function AppChoice({ session, path, name, onClose }: Props & { session: Session }) {
  const { data, error, refetch } = useQuery(appsQuery(session.id));
  const [wanted, setWanted] = useState<string | null>(null);
  if (error && data === undefined)
    return <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />;
  if (data === undefined) return <FormSkeleton groups={FORM} bare />;
  const apps = appsForFile(data.items, name);
  const app = apps.find((each) => each.name === wanted) ?? apps[0];
  if (app === undefined)
    return (
      <Text size="sm">
        <Trans>
          The environment of the session {{ session: session.name }} offers no app for this file.
        </Trans>
      </Text>
    );
  return (
    <>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {apps.length > 1 && (
        <NativeSelect
          label={t`App`}
          value={app.name}
          onChange={({ currentTarget }) => setWanted(currentTarget.value)}
          data={apps.map((each) => ({ value: each.name, label: translateExact(each.title) }))}
        />
      )}
      <AppStart key={app.name} id={session.id} app={app} file={path} onClose={onClose} />
    </>
  );
}
