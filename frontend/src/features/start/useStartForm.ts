import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { fieldMessage, messageAt } from '@/api/problem';
import type { Cluster, Environment, ResourceRequest, SessionRequest } from '@/api/types';
import { myLimitsQuery } from '@/features/limits/queries';
import {
  checkEmpty,
  type ResourceErrors,
  type ResourceFormValues,
} from '@/features/resources/requestedResources';
import { resourceErrorsOf, toResourceErrors } from '@/features/resources/resourceErrors';
import { toResources } from '@/features/resources/values';
import { translate } from '@/i18n/translate';
import { isText, orNull } from '@/lib/drafts';
import { queryClient } from '@/lib/queries';
import { linkResources, type StartLink } from '@/lib/startLink';
import { type FormDraft, useDraftField, useFormDraft } from '@/lib/useFormDraft';
import { useMe } from '@/lib/useMe';
import { useLive } from '@/live/store';
import {
  firstAvailable,
  type RequestedEnvironment,
  unavailableEnvironmentText,
} from './environments';
import { loadLastStart, saveLastStart } from './lastStart';
import type { CompletedPreset } from './presets';
import { CUSTOM } from './ResourceChoice';
import { type OpenWithChoice, useOpenWith } from './useOpenWith';
import { useStartResources } from './useStartResources';

/** The values of a saved setup. */
export interface SetupValues {
  environment: string;
  resources: ResourceRequest;
}

export interface StartFormState {
  cluster: Cluster;
  /** the site's presets, missing fields filled in by the portal for the environment */
  presets: readonly CompletedPreset[];
  environment: Environment | undefined;
  /** why the environment that a link or a setup requests is not chosen */
  environmentWarning: string | null;
  chooseEnvironment: (name: string) => void;
  /** the chosen preset's name, or CUSTOM */
  chosenPreset: string;
  choosePreset: (name: string) => void;
  isCustom: boolean;
  values: ResourceFormValues;
  setValues: (values: ResourceFormValues) => void;
  /** replaces the resources by these, as custom ones */
  setCustomResources: (resources: ResourceRequest) => void;
  /** replaces environment and resources by those of a saved setup */
  applySetup: (setup: SetupValues) => void;
  fieldErrors: ResourceErrors;
  /** why the user's limits allow no session at all */
  noSessionReason: string | null;
  name: string;
  setName: (name: string) => void;
  nameError: string | null;
  openWith: OpenWithChoice;
  /** chooses an app by name; null for JupyterLab */
  setOpenWith: (name: string | null) => void;
  /** the chosen starter notebook of the environment, if any; only JupyterLab opens one */
  starter: string | null;
  setStarter: (name: string | null) => void;
  starterError: string | null;
  /** whether the form can't be submitted */
  isBlocked: boolean;
  /** the error of the last attempt, until something is changed */
  submitError: unknown;
  showSubmitError: (error: unknown) => void;
  request: () => SessionRequest;
  /** the request before completion, which identifies it: two attempts with it are one request */
  explicitRequest: () => SessionRequest;
  /** the form's draft, stored by this tab until the form is sent */
  draft: FormDraft;
  /** to be called once the session is accepted: remembers the choices and deletes the draft */
  finish: () => void;
}

function useCluster(): Cluster {
  const cluster = useLive((s) => s.cluster);
  if (cluster === null) throw new Error('the form is shown only once the cluster is known');
  return cluster;
}

/** Keep the starter notebook: by default the first for users without earlier sessions, else none. */
function useStarter(
  environment: Environment | undefined,
  fromLink: string | undefined,
  draft: FormDraft,
) {
  const hasNoSessions = useLive((s) => s.sessions?.length === 0);
  // A session that starts later, perhaps from this form, must not change the choice.
  const [isNewUser] = useState(hasNoSessions);
  const [chosen, choose] = useDraftField<string | null | undefined>(
    draft,
    'starter',
    () => fromLink,
    orNull(isText),
  );
  const starters = environment?.starters ?? [];
  const preferred = chosen === undefined ? (isNewUser ? starters[0] : null) : chosen;
  return { starter: starters.find((name) => name === preferred) ?? null, choose };
}

/** Keep the state of the start form: choices, their errors, and the resulting request. */
export function useStartForm(
  environments: Environment[],
  link: StartLink,
): { start: StartFormState | null; failure: Error | null; retry: () => void } {
  const cluster = useCluster();
  const { data: limits } = useQuery(myLimitsQuery);
  const { username } = useMe();
  const [lastStart] = useState(() => loadLastStart(username));
  const draft = useFormDraft('start', { perHistoryEntry: Object.keys(link).length > 0 });
  const [environmentName, setEnvironmentName] = useDraftField<string | undefined>(
    draft,
    'environment',
    () => firstAvailable(environments, link.environment, lastStart.environment)?.name,
    (value): value is string => environments.some((e) => e.name === value && e.available),
  );
  const [requested, setRequested] = useState<RequestedEnvironment | null>(
    link.environment === undefined ? null : { by: 'link', name: link.environment },
  );
  const environment = environments.find((e) => e.name === environmentName);
  const [name, setName] = useDraftField(draft, 'name', () => '', isText);
  const { resources, failure, retry } = useStartResources(
    cluster,
    environment,
    name.trim(),
    linkResources(link),
    lastStart,
    draft,
  );
  const { openWith, choose: chooseOpenWith } = useOpenWith(environment, link.app, draft);
  const { starter: notebook, choose: chooseStarter } = useStarter(environment, link.starter, draft);
  const starter = openWith.chosen === null ? notebook : null;
  const [submitError, setSubmitError] = useState<unknown>(null);
  if (resources === null) return { start: null, failure, retry };
  const { chosenPreset, values, isCurrent } = resources;

  const empty = checkEmpty(values);
  // After an error, the error is newer than the answer to earlier values.
  const errors = submitError !== null && !isCurrent ? [] : resources.errors;
  const fieldErrors = toResourceErrors(errors);
  const nameError = messageAt(errors, 'name');
  const noSessionReason = translate(limits?.no_session) ?? null;
  // Values that the portal has not validated yet don't block: it validates them at submission.
  const isInvalid = isCurrent && (Object.keys(fieldErrors).length > 0 || nameError !== undefined);

  const toRequest = (values: SessionRequest['resources']): SessionRequest => ({
    environment: environment?.name ?? '',
    resources: { ...values, ...resources.accountAndQos },
    ...(name.trim() === '' ? {} : { name: name.trim() }),
    ...(starter === null ? {} : { starter }),
  });

  /** Wrap a setter so that it also clears the last error. */
  const change =
    <T>(set: (value: T) => void) =>
    (value: T): void => {
      setSubmitError(null);
      set(value);
    };

  const start: StartFormState = {
    cluster,
    presets: resources.presets,
    environment,
    environmentWarning: unavailableEnvironmentText(environments, requested),
    chooseEnvironment: change(setEnvironmentName),
    chosenPreset: chosenPreset?.name ?? CUSTOM,
    choosePreset: change(resources.choosePreset),
    isCustom: chosenPreset === undefined,
    values,
    setValues: change(resources.setValues),
    setCustomResources: change((custom: ResourceRequest) => resources.setCustom(custom)),
    applySetup: change((setup: SetupValues) => {
      const chosen = firstAvailable(environments, setup.environment, environmentName);
      resources.setCustomWithAccount(setup.resources);
      setEnvironmentName(chosen?.name);
      setRequested({ by: 'setup', name: setup.environment });
    }),
    fieldErrors: { ...fieldErrors, ...empty, ...resourceErrorsOf(submitError) },
    noSessionReason,
    name,
    setName: change(setName),
    nameError: fieldMessage(submitError, 'name') ?? nameError ?? null,
    openWith,
    setOpenWith: change(chooseOpenWith),
    starter,
    setStarter: change(chooseStarter),
    starterError: fieldMessage(submitError, 'starter') ?? null,
    isBlocked: isInvalid || Object.keys(empty).length > 0 || noSessionReason !== null,
    submitError,
    showSubmitError: (error) => {
      setSubmitError(error);
      // While it was submitted, the session itself used its name and counted against the limits.
      resources.askAgain();
      void queryClient.invalidateQueries(myLimitsQuery);
      if (Object.keys(resourceErrorsOf(error)).length > 0) resources.setCustom(values);
    },
    request: () => toRequest(isCurrent ? toResources(values) : resources.explicit),
    explicitRequest: () => toRequest(resources.explicit),
    draft,
    finish: () => {
      saveLastStart(username, { environment: environment?.name ?? null, ...resources.choice });
      draft.drop();
    },
  };
  return { start, failure: null, retry };
}
