import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, FileButton } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { errorMessage, fieldMessage } from '@/api/problem';
import type { ScriptImport } from '@/api/types';
import { takeDropped } from '@/lib/droppedFiles';
import { useMe } from '@/lib/useMe';
import { lazyPart } from '@/ui/lazyPart';
import { Notice } from '@/ui/Notice';
import { useDropArea } from '@/ui/useDropArea';
import { importScript } from './importScript';
import classes from './SubmitPage.module.css';

const ACCEPTED = '.py,.sh,.bash,.sbatch,.slurm,.ipynb';

/** Loaded with the first upload: most jobs need none. */
const UploadList = lazyPart(async () => (await import('@/features/files/UploadList')).UploadList);

type OnScript = (script: ScriptImport) => Promise<void>;

interface Props {
  onScript: OnScript;
  /** draws the page with the button for a file */
  children: (button: ReactNode) => ReactNode;
}

/** An area for a file that starts the form: dropped, or chosen with the button. */
export function ScriptFile({ onScript, children }: Props) {
  const { begin, sending, error } = useScriptFile(onScript);
  // the file that was dropped on another page and opened this one
  const first = useRef(begin);
  useEffect(() => void first.current(takeDropped()), []);
  const drop = useDropArea(
    t`Drop to start a job with this file`,
    true,
    ({ files }) => void begin([...files]),
  );
  return (
    <div {...drop}>
      {children(
        <section className={classes.file} aria-label={t`Start with a file`}>
          <p className={classes.quiet}>
            <Trans>
              Or start with a file: drop a Python script, a batch script or a notebook on this page.
            </Trans>
          </p>
          <FileButton accept={ACCEPTED} onChange={(file) => void begin(file ? [file] : [])}>
            {(props) => (
              <Button {...props} variant="default" size="compact-sm">
                <Trans>Choose a file…</Trans>
              </Button>
            )}
          </FileButton>
          {(error !== null || sending) && (
            <div className={classes.fileResult}>
              {error !== null && <Notice tone="error">{error}</Notice>}
              {sending && (
                <Suspense>
                  <UploadList />
                </Suspense>
              )}
            </div>
          )}
        </section>,
      )}
    </div>
  );
}

/** Read a file, upload it where necessary, and open its form. */
function useScriptFile(onScript: OnScript) {
  const { username } = useMe();
  const navigate = useNavigate();
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const shown = useRef(true);
  useEffect(() => {
    shown.current = true;
    return () => {
      shown.current = false;
    };
  }, []);

  /** Upload into the home directory; null if that failed, or the user has left the page. */
  const upload = async (file: File): Promise<string | null> => {
    const { uploads } = await import('@/features/files/uploader');
    uploads.setOwner(username);
    const [key = 0] = uploads.add('home', '', [file]);
    setSending(true);
    const item = await uploads.whenEnded(key);
    if (!shown.current) return null;
    setSending(false);
    if (item?.state === 'failed') setError(item.message);
    return item?.state === 'done' ? item.path : null;
  };

  const start = async (file: File): Promise<void> => {
    const { jobName, pythonScript, readStartFile } = await import('./scriptFiles');
    const { kind, text } = await readStartFile(file);
    if (kind === 'text') {
      const imported = await importScript(text);
      return onScript({ ...imported, name: imported.name ?? jobName(file.name) });
    }
    const path = await upload(file);
    if (path === null) return;
    if (kind === 'python')
      return onScript({
        script: pythonScript(path),
        name: jobName(file.name),
        resources: {},
        options: [],
      });
    await navigate({
      to: '/jobs/new',
      search: { template: 'notebook', parameters: { notebook: `~/${path}` } },
    });
  };

  const begin = async (files: readonly File[]): Promise<void> => {
    const [file] = files;
    if (file === undefined || sending) return;
    setError(files.length > 1 ? t`A job starts with one file. Choose one of them.` : null);
    if (files.length === 1)
      await start(file).catch((error: unknown) =>
        setError(fieldMessage(error, 'script') ?? errorMessage(error)),
      );
  };
  return { begin, sending, error };
}
