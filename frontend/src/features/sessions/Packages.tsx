import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { ActionIcon, Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { sentence } from '@/api/problem';
import type { Session } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { useAction } from '@/ui/useAction';
import { packagesQuery, removePackage, resetPackages, restorePackages } from './queries';
import classes from './SessionPage.module.css';
import type { Packages as Found, Package } from './types';

const FIRST = 12;

type Of = Pick<Session, 'environment' | 'environment_title'>;

/** What one has installed into the session's environment, and the way back to how it came. */
export function Packages({ session }: { session: Of }) {
  const { data, error, isFetching, refetch } = useQuery(packagesQuery(session.environment));
  return (
    <section aria-labelledby="packages" className={classes.section}>
      <h2 id="packages">
        <Trans>Your packages</Trans>
      </h2>
      <div role="status">
        {error && data === undefined && <Notice tone="error">{sentence(error)}</Notice>}
        {data === undefined && isFetching && (
          <p className={classes.note}>{t`Searching your home directory…`}</p>
        )}
      </div>
      {data && <Installed found={data} session={session} />}
      {!isFetching && (
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          w="fit-content"
          leftSection={<Icon name="again" size={15} />}
          onClick={() => void refetch()}
        >
          <Trans>Refresh</Trans>
        </Button>
      )}
    </section>
  );
}

function Installed({ found, session }: { found: Found; session: Of }) {
  const none = found.items.length === 0;
  const environment = translateExact(session.environment_title);
  const { folder } = found;
  return (
    <>
      <p className={classes.note}>
        {none
          ? t`You have not installed any packages in ${environment}. Packages that you install in a cell with %pip install, or install.packages in R, are listed here.`
          : t`You installed these in ${environment}; its kernels and jobs load them from ${folder}.`}
      </p>
      {!none && <List found={found} session={session} />}
      <div className={classes.actions}>
        {!none && <Remove session={session} count={found.items.length} />}
        <BringBack found={found} session={session} />
      </div>
    </>
  );
}

function List({ found, session }: { found: Found; session: Of }) {
  const [all, setAll] = useState(false);
  const [removing, setRemoving] = useState<string | null>(null);
  const count = found.items.length;
  const shown: Package[] = all ? found.items : found.items.slice(0, FIRST);
  return (
    <>
      <ul className={classes.packages} aria-label={t`Installed packages`}>
        {shown.map(({ name, version }) => (
          <li key={`${name} ${version}`}>
            <span>{name}</span> {version && <span className={classes.quiet}>{version}</span>}
            <ActionIcon
              variant="subtle"
              color="gray"
              size="sm"
              aria-label={t`Remove ${name}…`}
              onClick={() => setRemoving(name)}
            >
              <Icon name="trash" size={13} />
            </ActionIcon>
          </li>
        ))}
      </ul>
      <RemoveOne name={removing} session={session} onClose={() => setRemoving(null)} />
      {shown.length < count && (
        <Button size="compact-sm" variant="subtle" w="fit-content" onClick={() => setAll(true)}>
          <Trans>Show all {count}</Trans>
        </Button>
      )}
      {!found.complete && <p className={classes.note}>{t`Not all of them are shown here.`}</p>}
    </>
  );
}

interface RemoveOneProps {
  name: string | null;
  session: Of;
  onClose: () => void;
}

/** Deletes one of them, after a question. */
function RemoveOne({ name, session, onClose }: RemoveOneProps) {
  const client = useQueryClient();
  const shown = name ?? '';
  const act = async (): Promise<void> => {
    const after = await removePackage(session.environment, shown);
    client.setQueryData(packagesQuery(session.environment).queryKey, after);
  };
  return (
    <ConfirmDialog
      title={t`Remove ${shown}?`}
      opened={name !== null}
      onClose={onClose}
      act={act}
      button={t`Remove it`}
    >
      <p className={classes.plain}>
        <Trans>
          Packages that were installed with it as dependencies stay. Restart kernels that have
          loaded it. To use it again, reinstall it.
        </Trans>
      </p>
    </ConfirmDialog>
  );
}

/** Moves all of them to the trash, after a question. */
function Remove({ session, count }: { session: Of; count: number }) {
  const [asking, setAsking] = useState(false);
  const environment = translateExact(session.environment_title);
  const client = useQueryClient();
  const act = async (): Promise<void> => {
    const after = await resetPackages(session.environment);
    client.setQueryData(packagesQuery(session.environment).queryKey, after);
  };
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<Icon name="trash" size={15} />}
        onClick={() => setAsking(true)}
      >
        <Trans>Remove them all…</Trans>
      </Button>
      <ConfirmDialog
        title={t`Remove your packages from ${environment}?`}
        opened={asking}
        onClose={() => setAsking(false)}
        act={act}
        button={plural(count, { one: 'Remove it', other: 'Remove all #' })}
      >
        <p className={classes.plain}>
          <Trans>
            For all your sessions and jobs, the environment is then as its administrators made it.
            Restart kernels that have loaded any of the packages. The packages move to your trash,
            and you can restore them here.
          </Trans>
        </p>
      </ConfirmDialog>
    </>
  );
}

/** The way back from a removal, as long as the trash has them. */
function BringBack({ found, session }: { found: Found; session: Of }) {
  const [busy, act] = useAction();
  const client = useQueryClient();
  const [newest] = found.removed;
  if (found.items.length > 0) return null;
  if (newest === undefined) {
    return found.removed_complete ? null : (
      <p className={classes.note}>
        <Trans>
          Your trash is too large to search for packages that can be restored. On the Files page,
          delete what you don’t need from the trash, then refresh.
        </Trans>
      </p>
    );
  }
  const back = async (): Promise<void> => {
    const after = await restorePackages(session.environment, newest.id);
    client.setQueryData(packagesQuery(session.environment).queryKey, after);
  };
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        loading={busy}
        leftSection={<Icon name="again" size={15} />}
        onClick={() => void act(back)}
      >
        <Trans>Restore them</Trans>
      </Button>
      <span className={classes.quiet}>
        <Trans>
          Removed <Time at={newest.removed_at} />
        </Trans>
      </span>
    </>
  );
}
