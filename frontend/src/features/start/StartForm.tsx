import { t } from '@lingui/core/macro';
import { Skeleton, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useRef, useState } from 'react';
import { sentence } from '@/api/problem';
import type { Environment } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import { startSession } from '@/features/sessions/actions';
import type { StartLink } from '@/features/sessions/startLink';
import { focusFirstProblem } from '@/ui/focus';
import { Notice } from '@/ui/Notice';
import { RestoredNotice } from '@/ui/RestoredForm';
import { EnvironmentCards } from './EnvironmentCards';
import { GpuTypes } from './GpuTypes';
import { ResourceChoice } from './ResourceChoice';
import { ResourceFields } from './ResourceFields';
import { SetupList } from './SetupList';
import { StarterChoice } from './StarterChoice';
import classes from './StartPage.module.css';
import { StartBar, StartSummary } from './StartSummary';
import { setupsChanged } from './setups';
import { type StartFormState, useStartForm } from './useStartForm';

interface Props {
  environments: Environment[];
  /** what the page's address fills in */
  link: StartLink;
  onStartOver: () => void;
  /** what stands below the summary */
  beside: ReactNode;
}

/** Chooses an environment and resources, and starts a session with them. */
export function StartForm({ environments, link, onStartOver, beside }: Props) {
  const navigate = useNavigate();
  const form = useRef<HTMLFormElement>(null);
  const { start, failure } = useStartForm(environments, link);
  const [busy, setBusy] = useState(false);
  // A second click may come before the button is drawn busy.
  const asked = useRef(false);

  if (failure) return <Notice tone="error">{sentence(failure)}</Notice>;
  if (start === null) return <Skeleton height={360} radius="lg" aria-label={t`Loading`} />;

  const submit = async (event: FormEvent): Promise<void> => {
    // In React the forms of dialogs are inside this one, too.
    if (event.target !== event.currentTarget) return;
    event.preventDefault();
    if (asked.current) return;
    if (start.blocked) return focusFirstProblem(form);
    asked.current = true;
    setBusy(true);
    try {
      const { name } = await startSession(start.request());
      start.done();
      void setupsChanged();
      await navigate({ to: '/start-again/$name', params: { name } });
    } catch (error) {
      start.refuse(error);
      focusFirstProblem(form);
    } finally {
      asked.current = false;
      setBusy(false);
    }
  };

  return (
    <form ref={form} className={classes.columns} onSubmit={(e) => void submit(e)} noValidate>
      <div className={classes.form}>
        <RestoredNotice draft={start.kept} onStartOver={onStartOver} />
        <SetupList onUse={start.take} />
        {start.missing && (
          <Notice tone="warning" urgent>
            {start.missing}
          </Notice>
        )}
        <EnvironmentCards
          environments={environments}
          chosen={start.environment?.name ?? null}
          onChoose={start.chooseEnvironment}
        />
        <ResourcesPart start={start} />
        <StarterChoice
          environment={start.environment}
          chosen={start.starter}
          onChoose={start.setStarter}
          problem={start.starterProblem}
        />
        <TextInput
          label={t`Name (optional)`}
          description={t`It becomes part of the session's address.`}
          value={start.name}
          onChange={(event) => start.setName(event.currentTarget.value)}
          error={start.nameProblem}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          maw={380}
        />
      </div>
      <div className={classes.side}>
        <StartSummary start={start} busy={busy} onStartOver={onStartOver} />
        {beside}
      </div>
      <StartBar start={start} busy={busy} />
    </form>
  );
}

function ResourcesPart({ start }: { start: StartFormState }) {
  const { cluster, draft, problems } = start;
  return (
    <fieldset className={classes.group}>
      <legend>
        <Term word="Resources">{t`Resources`}</Term>
      </legend>
      {cluster.presets.length > 0 && (
        <ResourceChoice
          offers={start.offers}
          check={start.check}
          chosen={start.preset}
          onChoose={start.choosePreset}
        />
      )}
      {start.ownNumbers && (
        <>
          <ResourceFields
            cluster={cluster}
            draft={draft}
            problems={problems}
            onChange={start.setDraft}
            typesBelow
          />
          <GpuTypes cluster={cluster} draft={draft} problems={problems} onChange={start.setDraft} />
        </>
      )}
    </fieldset>
  );
}
