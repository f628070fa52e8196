import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type FieldError, fieldMessage, messageAt } from '@/api/problem';
import type { Cluster, Environment, Preset, ResourceRequest, SessionRequest } from '@/api/types';
import { myLimitsQuery } from '@/features/limits/queries';
import { linkResources, type StartLink } from '@/features/sessions/startLink';
import { translate } from '@/i18n/translate';
import { isLike, isRecordOf, isText, orNull } from '@/lib/drafts';
import { queryClient } from '@/lib/queries';
import { useAnswer } from '@/lib/useAnswer';
import { type FormDraft, useDraftField, useFormDraft } from '@/lib/useFormDraft';
import { useMe } from '@/lib/useMe';
import { useLive } from '@/live/store';
import { firstAvailable, missingText, type RequestedEnvironment } from './environments';
import { resourceErrorsOf, toResourceErrors } from './formErrors';
import { type LastStart, loadLastStart, saveLastStart } from './lastStart';
import { CUSTOM } from './ResourceChoice';
import {
  changesOf,
  checkEmpty,
  isResourceOverrides,
  type ResourceErrors,
  type ResourceFormValues,
  type ResourceOverrides,
  type ResourceSources,
  toResourceOverrides,
} from './requestedResources';
import { resolvedResourcesQuery } from './resolveResources';
import { firstPreset, type Offer, toResources, toValues } from './values';

/** Values that fill in the form, of a saved setup. */
export interface InitialValues {
  environment: string;
  resources: ResourceRequest;
}

export interface StartFormState {
  cluster: Cluster;
  /** the presets, completed for the environment */
  offers: readonly Offer[];
  environment: Environment | undefined;
  /** why the environment that a link or a setup requests is not chosen */
  missing: string | null;
  chooseEnvironment: (name: string) => void;
  /** the chosen preset's name, or CUSTOM */
  preset: string;
  choosePreset: (name: string) => void;
  isCustom: boolean;
  values: ResourceFormValues;
  setValues: (values: ResourceFormValues) => void;
  /** replaces the resources by these, as own numbers */
  setOwnResources: (resources: ResourceRequest) => void;
  /** replaces environment and resources by those of a saved setup */
  fillIn: (values: InitialValues) => void;
  fieldErrors: ResourceErrors;
  /** why the user's limits allow no session at all */
  noSession: string | null;
  name: string;
  setName: (name: string) => void;
  nameError: string | null;
  /** the chosen starter notebook of the environment, if any */
  starter: string | null;
  setStarter: (name: string | null) => void;
  starterError: string | null;
  blocked: boolean;
  /** the error of the last attempt, until something is changed */
  submitError: unknown;
  showSubmitError: (error: unknown) => void;
  request: () => SessionRequest;
  /** the request before completion, which identifies it: two attempts with it are one request */
  typed: () => SessionRequest;
  /** the form's draft, stored by this tab until the form is sent */
  draft: FormDraft;
  /** to be called once the form was sent: remembers the choices and deletes the draft */
  done: () => void;
}

/** Resources without a field in the form, which a setup may set. */
type AccountAndQos = Pick<ResourceRequest, 'account' | 'qos'>;

const isAccountAndQos: (value: unknown) => value is AccountAndQos = isRecordOf(isText);

function useCluster(): Cluster {
  const cluster = useLive((s) => s.cluster);
  if (cluster === null) throw new Error('the form is shown only once the cluster is known');
  return cluster;
}

const accountAndQosOf = ({ account, qos }: ResourceRequest): AccountAndQos => ({
  ...(account ? { account } : {}),
  ...(qos ? { qos } : {}),
});

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

interface ResourcesState {
  /** the presets that the portal has completed for this environment */
  offers: readonly Offer[];
  preset: Preset | undefined;
  values: ResourceFormValues;
  /** the portal's last answer: the errors of the numbers and of the session's name */
  errors: readonly FieldError[];
  /** whether that answer is about exactly these values */
  current: boolean;
  /** the explicit fields, without those that the portal has completed */
  explicit: ResourceOverrides;
  accountAndQos: AccountAndQos;
  /** the choice to remember for the next start */
  chosen: Pick<LastStart, 'preset' | 'own'>;
  choosePreset: (name: string) => void;
  setOwn: (values: ResourceFormValues) => void;
  /** replaces the resources by these, as own numbers */
  setOwnResources: (resources: ResourceOverrides) => void;
  /** the same, with account and QOS */
  setAll: (resources: ResourceRequest) => void;
  /** asks the portal again */
  outdate: () => void;
}

const isResourceSources = isLike<ResourceSources>({
  base: isResourceOverrides,
  typed: isResourceOverrides,
});

/** Return the values of the form's resource fields. */
const formResourcesOf = ({
  account: _,
  qos: __,
  nodes: ___,
  ...resources
}: ResourceOverrides): ResourceOverrides =>
  Object.fromEntries(Object.entries(resources).filter(([, value]) => value != null));

/** Keep the resources: a preset of the site, or own numbers; null until the portal answers. */
function useResources(
  environment: Environment | undefined,
  sessionName: string,
  fromLink: ResourceRequest | null,
  last: LastStart,
  draft: FormDraft,
): { resources: ResourcesState | null; failure: Error | null; retry: () => void } {
  const cluster = useCluster();
  const [chosen, choose] = useDraftField<string | null>(
    draft,
    'preset',
    () => (fromLink !== null || (last.own && last.preset === null) ? CUSTOM : last.preset),
    isText,
  );
  const [own, setOwn] = useDraftField<ResourceSources>(
    draft,
    'own',
    () => ({ base: formResourcesOf(fromLink ?? last.own ?? {}), typed: {} }),
    isResourceSources,
  );
  const [accountAndQos, setAccountAndQos] = useDraftField<AccountAndQos>(
    draft,
    'more',
    () => accountAndQosOf(fromLink ?? {}),
    isAccountAndQos,
  );
  const { presets } = cluster;
  const purpose = environment === undefined ? {} : { environment: environment.name };
  const requests = [
    toResourceOverrides(own),
    ...presets.map(({ resources }) => formResourcesOf(resources)),
  ];
  const { answer, current, failure, outdate } = useAnswer(
    { requests, name: sessionName || null },
    ({ requests, name }) => resolvedResourcesQuery(purpose, requests, name),
  );
  const [completedOwn, ...completedPresets] = answer?.items ?? [];
  if (answer === undefined || completedOwn === undefined)
    return { resources: null, failure, retry: outdate };

  const offers = presets.flatMap((preset, index): Offer[] => {
    const completed = completedPresets[index];
    if (completed === undefined) return [];
    const values = toValues(completed.resources, formResourcesOf(preset.resources), cluster);
    return [{ preset, values, problem: translate(completed.errors[0]?.message) }];
  });
  const offer =
    chosen === CUSTOM || environment === undefined
      ? undefined
      : firstPreset(offers, environment, chosen);
  const values =
    offer?.values ?? toValues(completedOwn.resources, toResourceOverrides(own), cluster);
  const setOwnResources = (resources: ResourceOverrides): void => {
    setOwn({ base: formResourcesOf(resources), typed: {} });
    choose(CUSTOM);
  };
  const resources: ResourcesState = {
    offers,
    preset: offer?.preset,
    values,
    errors: [...(offer ? [] : completedOwn.errors), ...answer.errors],
    current,
    explicit: offer ? formResourcesOf(offer.preset.resources) : toResourceOverrides(own),
    accountAndQos,
    chosen: {
      preset: offer?.preset.name ?? null,
      own:
        Object.keys(own.base).length + Object.keys(own.typed).length > 0
          ? toResourceOverrides(own)
          : null,
    },
    choosePreset: (name) => {
      if (name === CUSTOM) setOwnResources(values);
      else choose(name);
    },
    setOwn: (next) =>
      setOwn(({ base, typed }) => ({ base, typed: { ...typed, ...changesOf(values, next) } })),
    setOwnResources,
    setAll: (all) => {
      setOwnResources(all);
      setAccountAndQos(accountAndQosOf(all));
    },
    outdate,
  };
  return { resources, failure: null, retry: outdate };
}

/** Keep the state of the start form: choices, their errors, and the resulting request. */
export function useStartForm(
  environments: Environment[],
  link: StartLink,
): { start: StartFormState | null; failure: Error | null; retry: () => void } {
  const cluster = useCluster();
  const { data: limits } = useQuery(myLimitsQuery);
  const { username } = useMe();
  const [last] = useState(() => loadLastStart(username));
  const draft = useFormDraft('start', Object.keys(link).length > 0);
  const [environmentName, setEnvironmentName] = useDraftField<string | undefined>(
    draft,
    'environment',
    () => firstAvailable(environments, link.environment, last.environment)?.name,
    (value): value is string => environments.some((e) => e.name === value && e.available),
  );
  const [requested, setRequested] = useState<RequestedEnvironment | null>(
    link.environment === undefined ? null : { by: 'link', name: link.environment },
  );
  const environment = environments.find((e) => e.name === environmentName);
  const [name, setName] = useDraftField(draft, 'name', () => '', isText);
  const { resources, failure, retry } = useResources(
    environment,
    name.trim(),
    linkResources(link),
    last,
    draft,
  );
  const { starter, choose: chooseStarter } = useStarter(environment, link.starter, draft);
  const [submitError, setSubmitError] = useState<unknown>(null);
  if (resources === null) return { start: null, failure, retry };
  const { preset, values, current } = resources;

  const empty = checkEmpty(values);
  // After an error, the error is newer than the answer to earlier values.
  const errors = submitError !== null && !current ? [] : resources.errors;
  const fieldErrors = toResourceErrors(errors);
  const nameError = messageAt(errors, 'name');
  const noSession = translate(limits?.no_session) ?? null;
  // Values that the portal has not validated yet don't block: it validates them at submission.
  const isInvalid = current && (Object.keys(fieldErrors).length > 0 || nameError !== undefined);

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
    offers: resources.offers,
    environment,
    missing: missingText(environments, requested),
    chooseEnvironment: change(setEnvironmentName),
    preset: preset?.name ?? CUSTOM,
    choosePreset: change(resources.choosePreset),
    isCustom: preset === undefined,
    values,
    setValues: change(resources.setOwn),
    setOwnResources: change((own: ResourceRequest) => resources.setOwnResources(own)),
    fillIn: change((values: InitialValues) => {
      const chosen = firstAvailable(environments, values.environment, environmentName);
      resources.setAll(values.resources);
      setEnvironmentName(chosen?.name);
      setRequested({ by: 'setup', name: values.environment });
    }),
    fieldErrors: { ...fieldErrors, ...empty, ...resourceErrorsOf(submitError) },
    noSession,
    name,
    setName: change(setName),
    nameError: fieldMessage(submitError, 'name') ?? nameError ?? null,
    starter,
    setStarter: change(chooseStarter),
    starterError: fieldMessage(submitError, 'starter') ?? null,
    blocked: isInvalid || Object.keys(empty).length > 0 || noSession !== null,
    submitError,
    showSubmitError: (error) => {
      setSubmitError(error);
      // While it was submitted, the session itself used its name and counted against the limits.
      resources.outdate();
      void queryClient.invalidateQueries(myLimitsQuery);
      if (Object.keys(resourceErrorsOf(error)).length > 0) resources.setOwnResources(values);
    },
    request: () => toRequest(current ? toResources(values) : resources.explicit),
    typed: () => toRequest(resources.explicit),
    draft,
    done: () => {
      saveLastStart(username, { environment: environment?.name ?? null, ...resources.chosen });
      draft.drop();
    },
  };
  return { start, failure: null, retry };
}
