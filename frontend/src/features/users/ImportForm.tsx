import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Button, FileButton, Paper, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { errorMessage, fieldMessage } from '@/api/problem';
import { translate } from '@/i18n/translate';
import { download } from '@/lib/download';
import { isText } from '@/lib/drafts';
import { useWithPassword } from '@/lib/reauth';
import { useDraft } from '@/lib/useFormDraft';
import { Notice } from '@/ui/Notice';
import { RestoredNotice } from '@/ui/RestoredForm';
import { Cancelled } from '@/ui/showError';
import { TryAgain } from '@/ui/TryAgain';
import { checkText, TEMPLATE } from './csv';
import classes from './Import.module.css';
import { ImportProgress } from './ImportProgress';
import { ImportReport } from './ImportReport';
import { importQuery, startImport } from './imports';
import type { UserImport } from './types';

/** The form that imports users: a file, the result of a dry run, and the button that creates them. */
export function ImportForm({ onStartOver }: { onStartOver: () => void }) {
  const navigate = useNavigate();
  const withPassword = useWithPassword();
  const { value: text, setValue: setText, draft } = useDraft('users', () => '', isText);
  const [checked, setChecked] = useState<string | null>(null);
  const [message, setMessage] = useState<string | null>(null);
  const [busy, setBusy] = useState<'checking' | 'creating' | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);

  const change = (value: string): void => {
    setText(value);
    setChecked(null);
    setMessage(null);
  };

  const start = async (dryRun: boolean): Promise<void> => {
    if (busy) return;
    const wrong = checkText(text);
    setMessage(wrong);
    if (wrong !== null) return field.current?.focus();
    setBusy(dryRun ? 'checking' : 'creating');
    try {
      const started = await withPassword(() => startImport(text, dryRun));
      if (dryRun) setChecked(started.id);
      else {
        draft.drop();
        await navigate({ to: '/admin/new/users', search: { import: started.id } });
      }
    } catch (error) {
      if (error instanceof Cancelled) return;
      setMessage(fieldMessage(error, 'csv') ?? errorMessage(error));
      field.current?.focus();
    } finally {
      setBusy(null);
    }
  };

  return (
    <div className={classes.page}>
      <Paper
        component="form"
        className={classes.form}
        noValidate
        onSubmit={(event: FormEvent) => {
          if (event.target !== event.currentTarget) return; // submitted by a dialog inside
          event.preventDefault();
          void start(true);
        }}
      >
        <RestoredNotice draft={draft} onStartOver={onStartOver} />
        <Choosing onText={change} />
        <Textarea
          ref={field}
          label={t`The file's lines`}
          description={t`The first line names the columns; only username and surname are required. Separate several groups in one cell with “;”. An empty login_group or slurm_account means the default, “-” means none.`}
          placeholder={TEMPLATE}
          classNames={{ input: classes.lines }}
          value={text}
          onChange={(event) => change(event.currentTarget.value)}
          error={message}
          rows={8}
          spellCheck={false}
          autoCapitalize="none"
        />
        <div>
          <Button type="submit" loading={busy === 'checking'} disabled={busy === 'creating'}>
            <Trans>Check it</Trans>
          </Button>
        </div>
        <p className={classes.quiet}>
          <Trans>
            Checking doesn't create any users. You see the result for each line, and all mistakes at
            once.
          </Trans>
        </p>
      </Paper>
      {checked !== null && (
        <Checked id={checked} creating={busy === 'creating'} onCreate={() => void start(false)} />
      )}
    </div>
  );
}

function Choosing({ onText }: { onText: (text: string) => void }) {
  const [name, setName] = useState<string | null>(null);
  const choose = async (file: File | null): Promise<void> => {
    if (file === null) return;
    setName(file.name);
    onText(await file.text());
  };
  return (
    <div className={classes.choose}>
      <FileButton accept=".csv,text/csv,text/plain" onChange={(file) => void choose(file)}>
        {(props) => (
          <Button {...props} variant="default">
            <Trans>Choose a file…</Trans>
          </Button>
        )}
      </FileButton>
      <Button
        variant="subtle"
        color="gray"
        onClick={() => download('users.csv', TEMPLATE, 'text/csv')}
      >
        <Trans>Download a template</Trans>
      </Button>
      {name !== null && <span className={classes.quiet}>{name}</span>}
    </div>
  );
}

interface CheckedProps {
  id: string;
  creating: boolean;
  onCreate: () => void;
}

/** The result of the dry run. */
function Checked({ id, creating, onCreate }: CheckedProps) {
  const { data, error, refetch } = useQuery(importQuery(id));
  if (error) return <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />;
  if (!data) return null;
  if (data.state === 'running') return <ImportProgress run={data} />;
  return <DryRunResult run={data} creating={creating} onCreate={onCreate} />;
}

function DryRunResult({ run, creating, onCreate }: { run: UserImport } & Omit<CheckedProps, 'id'>) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const { created, failed } = run;
  return (
    <section className={classes.page} aria-labelledby="found">
      <h2 id="found" className={classes.heading} ref={heading} tabIndex={-1}>
        <Trans>Preview of the import</Trans>
      </h2>
      {run.problem && <Notice tone="error">{translate(run.problem)}</Notice>}
      <ImportReport run={run}>
        {created > 0 && run.state === 'done' && (
          <div className={classes.create}>
            <Button size="md" loading={creating} onClick={onCreate}>
              <Plural value={created} one="Create # user" other="Create # users" />
            </Button>
            {failed > 0 && (
              <span className={classes.quiet}>
                <Trans>
                  Lines with mistakes are skipped. Correct them and import the same file again
                  later: existing users are not changed.
                </Trans>
              </span>
            )}
          </div>
        )}
      </ImportReport>
    </section>
  );
}
