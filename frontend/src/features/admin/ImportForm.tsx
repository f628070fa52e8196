import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Checkbox, Paper, TextInput, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { ApiError, fieldMessage } from '@/api/problem';
import { useWithPassword } from '@/features/account/reauth';
import { complain } from '@/ui/complain';
import { focusFirstProblem } from '@/ui/focus';
import classes from './ImagesPage.module.css';
import { suggestedFile } from './images';
import { importsQuery } from './queries';

/** Asks for one image. Where it is refused, the field says why. */
export function ImportForm() {
  const queries = useQueryClient();
  const withPassword = useWithPassword();
  const form = useRef<HTMLFormElement>(null);
  const [reference, setReference] = useState('');
  const [own, setOwn] = useState<string | null>(null);
  const [replace, setReplace] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<unknown>(null);
  const file = own ?? suggestedFile(reference);

  const submit = async (): Promise<void> => {
    setBusy(true);
    setRefusal(null);
    try {
      const body = { reference, file, replace };
      await withPassword(() => unwrap(api.POST('/api/v1/admin/catalog/images', { body })));
      setReference('');
      setOwn(null);
      setReplace(false);
    } catch (error) {
      const named = error instanceof ApiError && error.fields.length > 0;
      if (named) setRefusal(error);
      else complain(error);
      focusFirstProblem(form);
    } finally {
      setBusy(false);
      await queries.invalidateQueries(importsQuery);
    }
  };

  const change =
    <T,>(set: (value: T) => void) =>
    (value: T): void => {
      setRefusal(null);
      set(value);
    };

  return (
    <Paper
      component="form"
      ref={form}
      className={classes.form}
      noValidate
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Title order={2} size="h4" mb="sm">
        <Trans>Import an image</Trans>
      </Title>
      <div className={classes.fields}>
        <TextInput
          label={t`Reference`}
          description={t`Where the registry has it. Passwords don't belong here.`}
          placeholder="docker://pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime"
          classNames={{ input: classes.exact }}
          value={reference}
          onChange={(event) => change(setReference)(event.currentTarget.value)}
          error={fieldMessage(refusal, 'reference')}
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
          onChange={(event) => change(setOwn)(event.currentTarget.value)}
          error={fieldMessage(refusal, 'file')}
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
          onChange={(event) => change(setReplace)(event.currentTarget.checked)}
        />
      </div>
    </Paper>
  );
}
