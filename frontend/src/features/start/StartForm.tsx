import { Button, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import type { Environment } from '@/api/types';
import { startSession } from '@/features/sessions/actions';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { EnvironmentCards } from './EnvironmentCards';
import { ResourceChoice } from './ResourceChoice';
import { ResourceFields } from './ResourceFields';
import { generalRefusal } from './refusal';
import { StartOutlook } from './StartOutlook';
import classes from './StartPage.module.css';
import { useStartForm } from './useStartForm';

/** Chooses an environment and resources, and starts a session with them. */
export function StartForm({ environments }: { environments: Environment[] }) {
  const navigate = useNavigate();
  const form = useRef<HTMLFormElement>(null);
  const start = useStartForm(environments);
  const [busy, setBusy] = useState(false);

  const focusFirstProblem = (): void => {
    // After React has drawn the messages, so that the field can be found by them.
    window.requestAnimationFrame(() =>
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
    );
  };

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (start.blocked) return focusFirstProblem();
    setBusy(true);
    try {
      await startSession(start.request());
      start.keep();
      await navigate({ to: '/' });
    } catch (error) {
      start.refuse(error);
      focusFirstProblem();
    } finally {
      setBusy(false);
    }
  };

  const refusal = generalRefusal(start.refusal);
  return (
    <form ref={form} className={classes.form} onSubmit={(e) => void submit(e)} noValidate>
      <EnvironmentCards
        environments={environments}
        chosen={start.environment?.name ?? null}
        onChoose={start.chooseEnvironment}
      />
      <fieldset className={classes.group}>
        <legend>Resources</legend>
        {start.cluster.presets.length > 0 && (
          <ResourceChoice
            cluster={start.cluster}
            environment={start.environment}
            chosen={start.preset}
            onChoose={start.choosePreset}
          />
        )}
        {start.ownNumbers && (
          <ResourceFields
            cluster={start.cluster}
            draft={start.draft}
            problems={start.problems}
            onChange={start.setDraft}
          />
        )}
      </fieldset>
      <TextInput
        label="Name (optional)"
        description="It becomes part of the session's address."
        value={start.name}
        onChange={(event) => start.setName(event.currentTarget.value)}
        error={start.nameProblem}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maw={380}
      />
      {refusal && <Notice tone="error">{refusal}</Notice>}
      <div className={classes.foot}>
        <Button
          type="submit"
          size="md"
          loading={busy}
          disabled={start.environment === undefined}
          leftSection={<Icon name="play" />}
        >
          Start session
        </Button>
        <StartOutlook draft={start.draft} cluster={start.cluster} possible={!start.blocked} />
      </div>
    </form>
  );
}
