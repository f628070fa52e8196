import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useRef } from 'react';
import { OpenAsApp } from '@/features/apps/OpenAsApp';
import { Icon } from '@/ui/icons';
import type { FileDialog } from './FileDialogs';
import classes from './Files.module.css';
import { onCluster } from './paths';
import { archiveAddress, downloadAddress } from './queries';
import { type Entry, isFile, type Root } from './types';
import { uploads } from './uploader';

/** in characters; proxies reject longer addresses */
const LONGEST_ADDRESS = 6000;
const MAX_NAMES = 200;

interface Props {
  root: Root;
  path: string;
  writable: boolean;
  /** whether there is something to download */
  filled: boolean;
  chosen: readonly Entry[];
  openDialog: (dialog: FileDialog) => void;
  remove: () => void;
}

/** The actions on the folder and on the selected items. */
export function Toolbar({ root, path, writable, filled, chosen, openDialog, remove }: Props) {
  const [only] = chosen.length === 1 ? chosen : [];
  return (
    <div className={classes.bar} role="toolbar" aria-label={t`Files`}>
      {writable && chosen.length === 0 && (
        <>
          <UploadButton root={root.name} path={path} />
          <Button
            variant="default"
            leftSection={<Icon name="plus" />}
            onClick={() => openDialog({ kind: 'folder' })}
          >
            <Trans>New folder</Trans>
          </Button>
        </>
      )}
      {filled && chosen.length === 0 && (
        <Button
          variant="default"
          component="a"
          href={archiveAddress({ root: root.name, path })}
          download
        >
          <Trans>Download all</Trans>
        </Button>
      )}
      {chosen.length > 0 && (
        <>
          <Download root={root.name} path={path} chosen={chosen} />
          {only && isFile(only) && <OpenAsApp path={onCluster(root, only.path)} />}
          {only && (
            <Button variant="default" onClick={() => openDialog({ kind: 'rename', entry: only })}>
              <Trans>Rename</Trans>
            </Button>
          )}
          <Button variant="default" onClick={() => openDialog({ kind: 'move', entries: chosen })}>
            <Trans>Move</Trans>
          </Button>
          <Button variant="default" leftSection={<Icon name="trash" />} onClick={remove}>
            <Trans>Delete</Trans>
          </Button>
        </>
      )}
    </div>
  );
}

function UploadButton({ root, path }: { root: string; path: string }) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button onClick={() => field.current?.click()}>
        <Trans>Upload</Trans>
      </Button>
      <input
        ref={field}
        type="file"
        multiple
        hidden
        aria-label={t`Files to upload`}
        onChange={({ currentTarget }) => {
          uploads.add(root, path, [...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
    </>
  );
}

function Download({ root, path, chosen }: Pick<Props, 'path' | 'chosen'> & { root: string }) {
  const [only] = chosen.length === 1 ? chosen : [];
  const address =
    only && isFile(only)
      ? downloadAddress({ root, path: only.path })
      : archiveAddress(
          { root, path },
          chosen.map(({ name }) => name),
        );
  if (address.length > LONGEST_ADDRESS || chosen.length > MAX_NAMES)
    return (
      <span className={classes.quiet}>
        <Trans>Too many to download together: select fewer, or none to get the whole folder.</Trans>
      </span>
    );
  return (
    <Button variant="default" component="a" href={address} download>
      {only && isFile(only) ? t`Download` : t`Download as zip`}
    </Button>
  );
}
