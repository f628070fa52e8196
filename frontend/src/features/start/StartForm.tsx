import { t } from '@lingui/core/macro';
import { TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, Suspense, useRef, useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { Environment } from '@/api/types';
import { toOpenWithState } from '@/features/apps/openWith';
import { Term } from '@/features/glossary/Term';
import { ResourceFields } from '@/features/resources/ResourceFields';
import { startSession } from '@/features/sessions/actions';
import type { StartLink } from '@/lib/startLink';
import formClasses from '@/ui/FormPage.module.css';
import { useFocusError } from '@/ui/focus';
import { lazyPart } from '@/ui/lazyPart';
import { Notice } from '@/ui/Notice';
import { RestoredNotice } from '@/ui/RestoredForm';
import { TryAgain } from '@/ui/TryAgain';
import { EnvironmentCards } from './EnvironmentCards';
import { GpuTypes } from './GpuTypes';
import { OpenWithField } from './OpenWithField';
import { ResourceChoice } from './ResourceChoice';
import { SetupList } from './SetupList';
import { StarterChoice } from './StarterChoice';
import classes from './StartPage.module.css';
import { StartSkeleton } from './StartSkeleton';
import { StartBar, StartSummary } from './StartSummary';
import { setupsChanged } from './setups';
import { type StartFormState, useStartForm } from './useStartForm';

const ChoiceWaits = lazyPart(
  async () => (await import('@/features/resources/ChoiceWaits')).ChoiceWaits,
);

interface Props {
  environments: Environment[];
  /** values from the page's address */
  link: StartLink;
  onStartOver: () => void;
  /** shown below the summary */
  aside: ReactNode;
}

/** The form that starts a session: environment, resources, app or starter notebook, and name. */
export function StartForm({ environments, link, onStartOver, aside }: Props) {
  const navigate = useNavigate();
  const form = useRef<HTMLFormElement>(null);
  const focusError = useFocusError(form);
  const { start, failure, retry } = useStartForm(environments, link);
  const [busy, setBusy] = useState(false);
  // A second click may come before the button is rendered as busy.
  const submitted = useRef(false);

  if (failure) return <TryAgain error={errorMessage(failure)} onRetry={retry} />;
  if (start === null) return <StartSkeleton aside={aside} />;

  const submit = async (event: FormEvent): Promise<void> => {
    // Submit events of forms in dialogs bubble to this form in React.
    if (event.target !== event.currentTarget) return;
    event.preventDefault();
    if (submitted.current) return;
    if (start.isBlocked) return focusError();
    submitted.current = true;
    setBusy(true);
    try {
      const { name } = await startSession(start.request(), start.explicitRequest());
      start.finish();
      void setupsChanged();
      await navigate({
        to: '/start-again/$name',
        params: { name },
        state: toOpenWithState(start.openWith.chosen),
      });
    } catch (error) {
      start.showSubmitError(error);
      focusError();
    } finally {
      submitted.current = false;
      setBusy(false);
    }
  };

  return (
    <form ref={form} className={formClasses.columns} onSubmit={(e) => void submit(e)} noValidate>
      <div className={formClasses.form}>
        <RestoredNotice draft={start.draft} onStartOver={onStartOver} />
        <SetupList onUse={start.applySetup} />
        {start.environmentWarning && (
          <Notice tone="warning" urgent>
            {start.environmentWarning}
          </Notice>
        )}
        <EnvironmentCards
          environments={environments}
          chosen={start.environment?.name ?? null}
          onChoose={start.chooseEnvironment}
        />
        <ResourceSection start={start} />
        <OpenWithField openWith={start.openWith} onChoose={start.setOpenWith} />
        {start.openWith.chosen === null && (
          <StarterChoice
            environment={start.environment}
            chosen={start.starter}
            onChoose={start.setStarter}
            error={start.starterError}
          />
        )}
        <TextInput
          label={t`Name (optional)`}
          description={t`It becomes part of the session's address.`}
          value={start.name}
          onChange={(event) => start.setName(event.currentTarget.value)}
          error={busy ? null : start.nameError}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          maw={380}
        />
      </div>
      <div className={classes.side}>
        <StartSummary start={start} busy={busy} onStartOver={onStartOver} />
        {aside}
      </div>
      <StartBar start={start} busy={busy} />
    </form>
  );
}

function ResourceSection({ start }: { start: StartFormState }) {
  const { cluster, values, fieldErrors } = start;
  return (
    <fieldset className={formClasses.group}>
      <legend>
        <Term word="Resources">{t`Resources`}</Term>
      </legend>
      {cluster.presets.length > 0 && (
        <ResourceChoice
          presets={start.presets}
          cluster={cluster}
          environment={start.environment}
          chosen={start.chosenPreset}
          onChoose={start.choosePreset}
        />
      )}
      {start.isCustom && (
        <>
          <ResourceFields
            cluster={cluster}
            values={values}
            fieldErrors={fieldErrors}
            onChange={start.setValues}
            withoutGpuType
          />
          <Suspense>
            <ChoiceWaits
              cluster={cluster}
              values={values}
              purpose={start.environment && { environment: start.environment.name }}
            />
          </Suspense>
          <GpuTypes
            cluster={cluster}
            environment={start.environment}
            values={values}
            fieldErrors={fieldErrors}
            onChange={start.setValues}
          />
        </>
      )}
    </fieldset>
  );
}
