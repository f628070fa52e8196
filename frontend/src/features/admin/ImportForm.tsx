import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Checkbox, Paper, TextInput, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { isBoolean, isLike, isText, orNull } from '@/lib/drafts';
import { useFormDraft } from '@/lib/useFormDraft';
import { RecordForm } from '@/ui/RecordForm';
import { useRecordForm } from '@/ui/useRecordForm';
import classes from './ImagesPage.module.css';
import { suggestedFile } from './images';
import { importsQuery } from './queries';

interface ImportValues {
  reference: string;
  /** the file's name; null while it follows the reference */
  own: string | null;
  replace: boolean;
}

const EMPTY: ImportValues = { reference: '', own: null, replace: false };
const isImportValues = isLike<ImportValues>({
  reference: isText,
  own: orNull(isText),
  replace: isBoolean,
});

const EXACT = {
  classNames: { input: classes.exact ?? '' },
  autoComplete: 'off',
  autoCapitalize: 'none',
  spellCheck: false,
};

/** The form that imports an image. An error is shown at the field. */
export function ImportForm() {
  const queries = useQueryClient();
  const refetch = (): void => void queries.invalidateQueries(importsQuery);
  const form = useRecordForm({
    draft: useFormDraft('image'),
    isValid: isImportValues,
    initial: () => EMPTY,
    fields: ['reference', 'file'],
    save: ({ reference, own, replace }) => {
      const body = { reference, file: own ?? suggestedFile(reference), replace };
      return unwrap(api.POST('/api/v1/admin/catalog/images', { body }));
    },
    saved: () => {
      form.startOver();
      refetch();
    },
    failed: refetch,
  });
  const { reference, own, replace } = form.values;
  const foot = (
    <div className={classes.foot}>
      <Button type="submit" loading={form.busy}>
        <Trans>Import</Trans>
      </Button>
      <Checkbox
        label={t`Replace a file of this name`}
        checked={replace}
        onChange={(event) => form.set({ replace: event.currentTarget.checked })}
      />
    </div>
  );
  return (
    <Paper className={classes.form}>
      <Title order={2} size="h4" mb="sm">
        <Trans>Import an image</Trans>
      </Title>
      <RecordForm form={form} foot={foot}>
        <div className={classes.fields}>
          <TextInput
            label={t`Reference`}
            description={t`The image's address in the registry. Don't enter passwords here.`}
            placeholder="docker://pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime"
            {...EXACT}
            {...form.text('reference')}
          />
          <TextInput
            label={t`File`}
            description={t`The name that environments use for it.`}
            placeholder="pytorch-2.4.sif"
            {...EXACT}
            value={own ?? suggestedFile(reference)}
            onChange={(event) => form.set({ own: event.currentTarget.value })}
            error={form.error('file')}
          />
        </div>
      </RecordForm>
    </Paper>
  );
}
