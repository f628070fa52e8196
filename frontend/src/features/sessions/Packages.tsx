import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { ActionIcon, Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { Session } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { useAction } from '@/ui/useAction';
import { packagesQuery, removePackage, resetPackages, restorePackages } from './queries';
import classes from './SessionPage.module.css';
import type { Package, Packages as PackageList } from './types';

/** Packages shown before "Show all". */
const INITIALLY_SHOWN = 12;

type PackagesSession = Pick<Session, 'environment' | 'environment_title'>;

/** The packages the user has installed into the session's environment, with ways to remove them. */
export function Packages({ session }: { session: PackagesSession }) {
  const { data, error, isFetching, refetch } = useQuery(packagesQuery(session.environment));
  return (
    <section aria-labelledby="packages" className={classes.section}>
      <h2 id="packages">
        <Trans>Your packages</Trans>
      </h2>
      <div role="status">
        {error && data === undefined && <Notice tone="error">{errorMessage(error)}</Notice>}
        {data === undefined && isFetching && (
          <p className={classes.note}>{t`Searching your home directory…`}</p>
        )}
      </div>
      {data && <Installed packages={data} session={session} />}
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

function Installed({ packages, session }: { packages: PackageList; session: PackagesSession }) {
  const none = packages.items.length === 0;
  const environment = translateExact(session.environment_title);
  const { folder } = packages;
  return (
    <>
      <p className={classes.note}>
        {none
          ? t`You have not installed any packages in ${environment}. Packages that you install in a cell with %pip install, or install.packages in R, are listed here.`
          : t`You installed these in ${environment}; its kernels and jobs load them from ${folder}.`}
      </p>
      {!none && <List packages={packages} session={session} />}
      <div className={classes.actions}>
        {!none && <RemoveAll session={session} count={packages.items.length} />}
        <RestoreButton packages={packages} session={session} />
      </div>
    </>
  );
}

function List({ packages, session }: { packages: PackageList; session: PackagesSession }) {
  const [all, setAll] = useState(false);
  const [removing, setRemoving] = useState<string | null>(null);
  const count = packages.items.length;
  const visible: Package[] = all ? packages.items : packages.items.slice(0, INITIALLY_SHOWN);
  return (
    <>
      <ul className={classes.packages} aria-label={t`Installed packages`}>
        {visible.map(({ name, version }) => (
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
      {visible.length < count && (
        <Button size="compact-sm" variant="subtle" w="fit-content" onClick={() => setAll(true)}>
          <Trans>Show all {count}</Trans>
        </Button>
      )}
      {!packages.complete && <p className={classes.note}>{t`Not all of them are shown here.`}</p>}
    </>
  );
}

interface RemoveOneProps {
  name: string | null;
  session: PackagesSession;
  onClose: () => void;
}

/** The dialog that removes one package. */
function RemoveOne({ name, session, onClose }: RemoveOneProps) {
  const client = useQueryClient();
  const shown = name ?? '';
  const remove = async (): Promise<void> => {
    const after = await removePackage(session.environment, shown);
    client.setQueryData(packagesQuery(session.environment).queryKey, after);
  };
  return (
    <ConfirmDialog
      title={t`Remove ${shown}?`}
      opened={name !== null}
      onClose={onClose}
      act={remove}
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

/** The button that moves all packages to the trash, after confirmation. */
function RemoveAll({ session, count }: { session: PackagesSession; count: number }) {
  const [confirming, setConfirming] = useState(false);
  const environment = translateExact(session.environment_title);
  const client = useQueryClient();
  const removeAll = async (): Promise<void> => {
    const after = await resetPackages(session.environment);
    client.setQueryData(packagesQuery(session.environment).queryKey, after);
  };
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<Icon name="trash" size={15} />}
        onClick={() => setConfirming(true)}
      >
        <Trans>Remove them all…</Trans>
      </Button>
      <ConfirmDialog
        title={t`Remove your packages from ${environment}?`}
        opened={confirming}
        onClose={() => setConfirming(false)}
        act={removeAll}
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

/** The button that restores removed packages from the trash while none are installed. */
function RestoreButton({ packages, session }: { packages: PackageList; session: PackagesSession }) {
  const [busy, run] = useAction();
  const client = useQueryClient();
  const [newest] = packages.removed;
  if (packages.items.length > 0) return null;
  if (newest === undefined) {
    return packages.removed_complete ? null : (
      <p className={classes.note}>
        <Trans>
          Your trash is too large to search for packages that can be restored. On the Files page,
          delete what you don't need from the trash, then refresh.
        </Trans>
      </p>
    );
  }
  const restore = async (): Promise<void> => {
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
        onClick={() => void run(restore)}
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
