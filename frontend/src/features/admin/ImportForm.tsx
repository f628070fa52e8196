import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Checkbox, Paper, TextInput, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { api, unwrap } from '@/api/client';
import { sentence } from '@/api/problem';
import { isBoolean, isLike, isText, orNull } from '@/lib/drafts';
import { useDraft } from '@/lib/useFormDraft';
import { Notice } from '@/ui/Notice';
import { RestoredNotice } from '@/ui/RestoredForm';
import { useSaving } from '@/ui/useSaving';
import classes from './ImagesPage.module.css';
import { suggestedFile } from './images';
import { importsQuery } from './queries';

interface Draft {
  reference: string;
  /** the file's name; null while it follows the reference */
  own: string | null;
  replace: boolean;
}

const EMPTY: Draft = { reference: '', own: null, replace: false };
const isDraft = isLike<Draft>({ reference: isText, own: orNull(isText), replace: isBoolean });

/** The form that imports an image. A refusal is shown at the field. */
export function ImportForm({ onStartOver }: { onStartOver: () => void }) {
  const queries = useQueryClient();
  const { draft, setDraft, kept } = useDraft('image', () => EMPTY, isDraft);
  const { reference, own, replace } = draft;
  const file = own ?? suggestedFile(reference);
  const refetch = (): void => void queries.invalidateQueries(importsQuery);
  const { form, busy, error, elsewhere, submit } = useSaving({
    save: async () => {
      const body = { reference, file, replace };
      await unwrap(api.POST('/api/v1/admin/catalog/images', { body }));
      setDraft(EMPTY);
      kept.drop();
      refetch();
    },
    failed: refetch,
  });
  const refusal = elsewhere(['reference', 'file']);
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));

  return (
    <Paper
      component="form"
      ref={form}
      className={classes.form}
      noValidate
      onSubmit={(event: FormEvent) => void submit(event)}
    >
      <Title order={2} size="h4" mb="sm">
        <Trans>Import an image</Trans>
      </Title>
      <RestoredNotice draft={kept} onStartOver={onStartOver} />
      {refusal !== null && <Notice tone="error">{sentence(refusal)}</Notice>}
      <div className={classes.fields}>
        <TextInput
          label={t`Reference`}
          description={t`The image's address in the registry. Don't enter passwords here.`}
          placeholder="docker://pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime"
          classNames={{ input: classes.exact }}
          value={reference}
          onChange={(event) => set({ reference: event.currentTarget.value })}
          error={error('reference')}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
        <TextInput
          label={t`File`}
          description={t`The name that environments use for it.`}
          placeholder="pytorch-2.4.sif"
          classNames={{ input: classes.exact }}
          value={file}
          onChange={(event) => set({ own: event.currentTarget.value })}
          error={error('file')}
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
