import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Checkbox, Paper, TextInput, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { fieldMessage, sentence } from '@/api/problem';
import { useWithPassword } from '@/features/account/reauth';
import { isBoolean, isLike, isText, orNull } from '@/lib/drafts';
import { useDraft } from '@/lib/useFormDraft';
import { Cancelled } from '@/ui/complain';
import { focusFirstProblem } from '@/ui/focus';
import { Notice } from '@/ui/Notice';
import { AsYouLeftIt } from '@/ui/StartOver';
import classes from './ImagesPage.module.css';
import { suggestedFile } from './images';
import { importsQuery } from './queries';

interface Draft {
  reference: string;
  /** the file's name; null as long as it follows the reference */
  own: string | null;
  replace: boolean;
}

const EMPTY: Draft = { reference: '', own: null, replace: false };
const isDraft = isLike<Draft>({ reference: isText, own: orNull(isText), replace: isBoolean });

/** Asks for one image. Where it is refused, the field says why. */
export function ImportForm({ onStartOver }: { onStartOver: () => void }) {
  const queries = useQueryClient();
  const withPassword = useWithPassword();
  const form = useRef<HTMLFormElement>(null);
  const { draft, setDraft, kept } = useDraft('image', () => EMPTY, isDraft);
  const { reference, own, replace } = draft;
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<unknown>(null);
  const file = own ?? suggestedFile(reference);

  const submit = async (): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setRefusal(null);
    try {
      const body = { reference, file, replace };
      await withPassword(() => unwrap(api.POST('/api/v1/admin/catalog/images', { body })));
      setDraft(EMPTY);
      kept.drop();
    } catch (error) {
      if (error instanceof Cancelled) return;
      setRefusal(error);
      focusFirstProblem(form);
    } finally {
      setBusy(false);
      await queries.invalidateQueries(importsQuery);
    }
  };

  const set = (change: Partial<Draft>): void => {
    setRefusal(null);
    setDraft((before) => ({ ...before, ...change }));
  };
  const wrong = (field: 'reference' | 'file') => fieldMessage(refusal, field);
  const elsewhere = refusal !== null && !wrong('reference') && !wrong('file');

  return (
    <Paper
      component="form"
      ref={form}
      className={classes.form}
      noValidate
      onSubmit={(event: FormEvent) => {
        if (event.target !== event.currentTarget) return; // of a dialog within
        event.preventDefault();
        void submit();
      }}
    >
      <Title order={2} size="h4" mb="sm">
        <Trans>Import an image</Trans>
      </Title>
      <AsYouLeftIt draft={kept} onStartOver={onStartOver} />
      {elsewhere && <Notice tone="error">{sentence(refusal)}</Notice>}
      <div className={classes.fields}>
        <TextInput
          label={t`Reference`}
          description={t`Where the registry has it. Passwords don't belong here.`}
          placeholder="docker://pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime"
          classNames={{ input: classes.exact }}
          value={reference}
          onChange={(event) => set({ reference: event.currentTarget.value })}
          error={wrong('reference')}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
        <TextInput
          label={t`File`}
          description={t`What environments call it.`}
          placeholder="pytorch-2.4.sif"
          classNames={{ input: classes.exact }}
          value={file}
          onChange={(event) => set({ own: event.currentTarget.value })}
          error={wrong('file')}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
      </div>
      <div className={classes.foot}>
        <Button type="submit" loading={busy}>
          <Trans>Import</Trans>
        </Button>
        <Checkbox
          label={t`Replace a file of this name`}
          checked={replace}
          onChange={(event) => set({ replace: event.currentTarget.checked })}
        />
      </div>
    </Paper>
  );
}
