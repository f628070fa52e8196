import { t } from '@lingui/core/macro';
import { useState } from 'react';
import { ApiError } from '@/api/problem';
import { isLike, isOneOf, isText } from '@/lib/drafts';
import { useDraft } from '@/lib/useFormDraft';
import { useUnsavedGuard } from '@/lib/useUnsavedGuard';
import { readText, saveText } from './actions';
import { forField, forFile, lineEnding } from './lines';
import type { FileLocation, FileText, TextIn } from './types';

/** Return the name of an edited file's draft. */
export const fileDraft = ({ root, path }: FileLocation): string => `file ${root} ${path}`;

interface Draft {
  text: string;
  /** the version at the beginning */
  version: string;
  encoding: string;
  ends: ReturnType<typeof lineEnding>;
  before: string;
}

const begin = (read: FileText): Draft => ({
  text: forField(read.text),
  version: read.version,
  encoding: read.encoding,
  ends: lineEnding(read.text),
  before: forField(read.text),
});

const isDraft = isLike<Draft>({
  text: isText,
  version: isText,
  encoding: isText,
  ends: isOneOf('\n', '\r\n', 'mixed'),
  before: isText,
});

/** The text of a file being edited, and the version that another user has saved since. */
export function useEditing(location: FileLocation, read: FileText, close: () => void) {
  const {
    value: edited,
    setValue: setEdited,
    draft,
  } = useDraft(fileDraft(location), () => begin(read), isDraft);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [theirs, setTheirs] = useState<FileText | null>(null);
  const changed = edited.text !== edited.before;
  const question = t`Your changes to this file are not saved. Leave anyway?`;
  useUnsavedGuard(changed && !busy, question, draft.drop);
  const done = (): void => {
    draft.drop();
    close();
  };

  const save = async (version: string): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setProblem(null);
    try {
      const text = forFile(edited.text, edited.ends);
      const encoding = edited.encoding as TextIn['encoding'];
      await saveText({ ...location, text, encoding, version });
      done();
    } catch (error) {
      setProblem(error);
      if (error instanceof ApiError && error.slug === 'file-changed')
        setTheirs(await readText(location).catch(() => null));
    } finally {
      setBusy(false);
    }
  };
  /** replace the text by the file's current content */
  const takeTheirs = (now: FileText): void => {
    setEdited(begin(now));
    draft.drop();
    setTheirs(null);
    setProblem(null);
  };
  /** replace the file's current content by the text */
  const replace = ({ version }: FileText): void => {
    setTheirs(null);
    void save(version);
  };
  return {
    edited,
    draft,
    busy,
    problem,
    theirs,
    changed,
    edit: (text: string): void => setEdited({ ...edited, text }),
    save: (): void => void save(edited.version),
    done,
    take: takeTheirs,
    replace,
  };
}
