import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, CloseButton, Paper, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { errorMessage } from '@/api/problem';
import { OpenAsApp } from '@/features/apps/OpenAsApp';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { sizeText } from '@/lib/sizes';
import { useHasDraft } from '@/lib/useFormDraft';
import { closesPanel, focusPageIfLost } from '@/ui/focus';
import { Time } from '@/ui/Time';
import { TryAgain } from '@/ui/TryAgain';
import { Contents } from './Contents';
import classes from './Preview.module.css';
import { fileNameOf, onCluster } from './paths';
import { downloadAddress, entryQuery, previewQuery } from './queries';
import { withPreview } from './search';
import { TextEditor } from './TextEditor';
import { type Entry, type FileLocation, isFile, type Root } from './types';
import { fileDraft } from './useEditing';

interface Props {
  root: Root;
  location: FileLocation;
  maxTextBytes: number;
}

/** The properties and the content of one file, beside the list. */
export function PreviewPane({ root, location, maxTextBytes }: Props) {
  const query = useQuery(entryQuery(location));
  const search = useSearch({ from: '/signed-in/files' });
  const navigate = useNavigate();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const { data: entry, error } = query;
  const close = (): void => {
    void navigate({ to: '/files', search: withPreview(search, null) }).then(focusPageIfLost);
  };
  return (
    <Paper
      component="section"
      className={classes.pane}
      aria-label={t`Preview`}
      onKeyDown={(event) => {
        const typing = event.target instanceof HTMLTextAreaElement;
        // React passes on the keys of dialogs that the preview opens
        if (closesPanel(event.nativeEvent) && !typing) close();
      }}
    >
      <div className={classes.top}>
        <div>
          <h2 className={classes.title} ref={heading} tabIndex={-1}>
            {escapeInvisible(fileNameOf(location.path))}
          </h2>
          {entry && <Facts entry={entry} />}
        </div>
        <CloseButton aria-label={t`Close the preview`} onClick={close} />
      </div>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton height={200} mt="md" aria-label={t`Loading`} />}
      {entry && (
        <Inside root={root} location={location} entry={entry} maxTextBytes={maxTextBytes} />
      )}
    </Paper>
  );
}

function Facts({ entry }: { entry: Entry }) {
  const size = entry.size_bytes === null ? '' : `${sizeText(entry.size_bytes)} · `;
  return (
    <p className={classes.quiet}>
      {size}
      {entry.owner} · {(entry.mode & 0o7777).toString(8).padStart(3, '0')} ·{' '}
      <Trans>
        changed <Time at={entry.modified_at} relative />
      </Trans>
    </p>
  );
}

function Inside({ root, location, entry, maxTextBytes }: Props & { entry: Entry }) {
  const [editing, edit] = useState(useHasDraft(fileDraft(location)));
  const query = useQuery({
    ...previewQuery(location, entry.version),
    enabled: isFile(entry) && entry.readable && !editing,
  });
  if (!isFile(entry))
    return (
      <p className={classes.quiet}>
        <Trans>This file can't be shown or downloaded.</Trans>
      </p>
    );
  if (!entry.readable)
    return (
      <p className={classes.quiet}>
        <Trans>Its permissions don't let you read it.</Trans>
      </p>
    );
  if (editing) return <TextEditor location={location} close={() => edit(false)} />;
  const { data: preview, error } = query;
  const editable =
    preview !== undefined &&
    ['text', 'csv', 'empty'].includes(preview.kind) &&
    preview.size_bytes <= maxTextBytes &&
    entry.writable &&
    !entry.is_link;
  return (
    <>
      <div className={classes.acts}>
        <Button component="a" href={downloadAddress(location)} download variant="default" size="sm">
          <Trans>Download</Trans>
        </Button>
        {editable && (
          <Button variant="default" size="sm" onClick={() => edit(true)}>
            <Trans>Edit</Trans>
          </Button>
        )}
        <OpenAsApp path={onCluster(root, location.path)} size="sm" />
      </div>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton height={200} aria-label={t`Loading`} />}
      {preview && <Contents location={location} preview={preview} />}
    </>
  );
}
