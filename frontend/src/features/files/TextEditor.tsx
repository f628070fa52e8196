import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Skeleton, Stack, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { KeyboardEvent } from 'react';
import { errorMessage } from '@/api/problem';
import { Notice } from '@/ui/Notice';
import { RestartableForm, RestoredNotice } from '@/ui/RestoredForm';
import { TryAgain } from '@/ui/TryAgain';
import { readText } from './actions';
import { Plain } from './Contents';
import classes from './Preview.module.css';
import type { FileLocation, FileText } from './types';
import { useEditing } from './useEditing';

interface Props {
  location: FileLocation;
  close: () => void;
}

/** An editor for a small text file. */
export function TextEditor({ location, close }: Props) {
  const query = useQuery({
    queryKey: ['files', 'text', location.root, location.path],
    queryFn: () => readText(location),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  const { data: read } = query;
  if (read)
    return (
      <RestartableForm>
        {(startOver) => (
          <Editor location={location} close={close} read={read} onStartOver={startOver} />
        )}
      </RestartableForm>
    );
  if (query.error)
    return <TryAgain error={errorMessage(query.error)} onRetry={() => void query.refetch()} />;
  return <Skeleton height={200} mt="md" aria-label={t`Loading`} />;
}

interface EditorProps extends Props {
  read: FileText;
  onStartOver: () => void;
}

function Editor({ location, close, read, onStartOver }: EditorProps) {
  const editing = useEditing(location, read, close);
  const { edited, draft, busy, problem, theirs, changed, save, done } = editing;
  const keys = (event: KeyboardEvent): void => {
    if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (changed) save();
  };
  return (
    <Stack gap="sm" mt="md" onKeyDown={keys}>
      <RestoredNotice draft={draft} onStartOver={onStartOver} />
      {edited.ends === 'mixed' && (
        <Notice tone="warning">
          <Trans>This file has mixed line endings. Saving makes them uniform.</Trans>
        </Notice>
      )}
      {problem !== null && <Notice tone="error">{errorMessage(problem)}</Notice>}
      {theirs && (
        <ConflictNotice
          theirs={theirs}
          busy={busy}
          onTake={() => editing.take(theirs)}
          keep={() => editing.replace(theirs)}
        />
      )}
      <Textarea
        className={classes.editor}
        label={
          theirs
            ? t({ message: 'Yours', context: 'of two versions' })
            : t({ message: 'Text', context: 'of a file' })
        }
        value={edited.text}
        onChange={(event) => editing.edit(event.currentTarget.value)}
        // text typed during saving would be lost with the editor
        readOnly={busy}
        rows={20}
        spellCheck={false}
        autoCapitalize="none"
        data-autofocus
      />
      <Group justify="flex-end">
        <Button variant="default" onClick={done}>
          {changed ? t`Don't save` : t`Close`}
        </Button>
        <Button loading={busy} disabled={!changed || theirs !== null} onClick={save}>
          <Trans>Save</Trans>
        </Button>
      </Group>
    </Stack>
  );
}

interface ConflictProps {
  theirs: FileText;
  busy: boolean;
  onTake: () => void;
  keep: () => void;
}

/** A conflict with another user's save: show both versions, and let the user choose. */
function ConflictNotice({ theirs, busy, onTake, keep }: ConflictProps) {
  return (
    <div className={classes.both}>
      <p className={classes.quiet}>
        <Trans>Current content of the file:</Trans>
      </p>
      <Plain text={theirs.text} />
      <Group>
        <Button variant="default" onClick={onTake}>
          <Trans>Use this version, discard mine</Trans>
        </Button>
        <Button variant="default" loading={busy} onClick={keep}>
          <Trans>Replace it with mine</Trans>
        </Button>
      </Group>
    </div>
  );
}
