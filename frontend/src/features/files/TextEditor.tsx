import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Skeleton, Stack, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useState } from 'react';
import { ApiError, sentence } from '@/api/problem';
import { isLike, isOneOf, isText } from '@/lib/drafts';
import { useDraft } from '@/lib/useFormDraft';
import { useStay } from '@/lib/useStay';
import { Notice } from '@/ui/Notice';
import { Anew, AsYouLeftIt } from '@/ui/StartOver';
import { readText, saveText } from './actions';
import { Plain } from './Contents';
import { forField, forFile, lineEnds } from './lines';
import classes from './Preview.module.css';
import type { At, FileText, TextIn } from './shapes';
import { TryAgain } from './TryAgain';

interface Props {
  at: At;
  close: () => void;
}

/** The name of what is kept of a file while it is edited. */
export const fileDraft = ({ root, path }: At): string => `file ${root} ${path}`;

/** Edits a small text file as it is now. */
export function TextEditor({ at, close }: Props) {
  const asked = useQuery({
    queryKey: ['files', 'text', at.root, at.path],
    queryFn: () => readText(at),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  const { data: read } = asked;
  if (read)
    return (
      <Anew>
        {(startOver) => <Editor at={at} close={close} read={read} onStartOver={startOver} />}
      </Anew>
    );
  if (asked.error)
    return <TryAgain error={sentence(asked.error)} again={() => void asked.refetch()} />;
  return <Skeleton height={200} mt="md" aria-label={t`Loading`} />;
}

interface Draft {
  text: string;
  /** the version it began with */
  version: string;
  encoding: string;
  ends: ReturnType<typeof lineEnds>;
  before: string;
}

const begin = (read: FileText): Draft => ({
  text: forField(read.text),
  version: read.version,
  encoding: read.encoding,
  ends: lineEnds(read.text),
  before: forField(read.text),
});

const isDraft = isLike<Draft>({
  text: isText,
  version: isText,
  encoding: isText,
  ends: isOneOf('\n', '\r\n', 'mixed'),
  before: isText,
});

interface EditorProps extends Props {
  read: FileText;
  onStartOver: () => void;
}

function Editor({ at, close, read, onStartOver }: EditorProps) {
  const { draft, setDraft, kept } = useDraft(fileDraft(at), () => begin(read), isDraft);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [theirs, setTheirs] = useState<FileText | null>(null);
  const changed = draft.text !== draft.before;
  const question = t`What you changed in this file isn’t saved. Leave it?`;
  useStay(changed && !busy, question, kept.drop);
  const done = (): void => {
    kept.drop();
    close();
  };

  const save = async (version: string): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setProblem(null);
    try {
      const text = forFile(draft.text, draft.ends);
      const encoding = draft.encoding as TextIn['encoding'];
      await saveText({ ...at, text, encoding, version });
      done();
    } catch (error) {
      setProblem(error);
      if (error instanceof ApiError && error.slug === 'file-changed')
        setTheirs(await readText(at).catch(() => null));
    } finally {
      setBusy(false);
    }
  };
  const keys = (event: KeyboardEvent): void => {
    if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (changed) void save(draft.version);
  };
  return (
    <Stack gap="sm" mt="md" onKeyDown={keys}>
      <AsYouLeftIt draft={kept} onStartOver={onStartOver} />
      {draft.ends === 'mixed' && (
        <Notice tone="warning">
          <Trans>
            The lines of this file end in different ways. Saving makes them all end alike.
          </Trans>
        </Notice>
      )}
      {problem !== null && <Notice tone="error">{sentence(problem)}</Notice>}
      {theirs && (
        <Quicker
          theirs={theirs}
          busy={busy}
          take={() => {
            setDraft(begin(theirs));
            setTheirs(null);
            setProblem(null);
          }}
          keep={() => {
            const { version } = theirs;
            setTheirs(null);
            void save(version);
          }}
        />
      )}
      <Textarea
        className={classes.editor}
        label={
          theirs
            ? t({ message: 'Yours', context: 'of two versions' })
            : t({ message: 'Text', context: 'of a file' })
        }
        value={draft.text}
        onChange={(event) => setDraft({ ...draft, text: event.currentTarget.value })}
        rows={20}
        spellCheck={false}
        autoCapitalize="none"
        data-autofocus
      />
      <Group justify="flex-end">
        <Button variant="default" onClick={done}>
          {changed ? t`Don’t save` : t`Close`}
        </Button>
        <Button
          loading={busy}
          disabled={!changed || theirs !== null}
          onClick={() => void save(draft.version)}
        >
          <Trans>Save</Trans>
        </Button>
      </Group>
    </Stack>
  );
}

interface QuickerProps {
  theirs: FileText;
  busy: boolean;
  take: () => void;
  keep: () => void;
}

/** Somebody saved it meanwhile: both are shown, and one is chosen. */
function Quicker({ theirs, busy, take, keep }: QuickerProps) {
  return (
    <div className={classes.both}>
      <p className={classes.quiet}>
        <Trans>What is in the file now:</Trans>
      </p>
      <Plain text={theirs.text} />
      <Group>
        <Button variant="default" onClick={take}>
          <Trans>Take this, drop mine</Trans>
        </Button>
        <Button variant="default" loading={busy} onClick={keep}>
          <Trans>Replace it with mine</Trans>
        </Button>
      </Group>
    </div>
  );
}
