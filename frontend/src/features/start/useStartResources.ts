/** The resources of the form that starts a session. */
import type { FieldError } from '@/api/problem';
import type { Cluster, Environment, Preset, ResourceRequest } from '@/api/types';
import {
  changesOf,
  type ExplicitResources,
  isExplicitResources,
  type ResourceFormValues,
  type ResourceSources,
  toExplicitResources,
} from '@/features/resources/requestedResources';
import { resolvedResourcesQuery } from '@/features/resources/resolveResources';
import { toValues } from '@/features/resources/values';
import { translate } from '@/i18n/translate';
import { isLike, isRecordOf, isText } from '@/lib/drafts';
import { useAnswer } from '@/lib/useAnswer';
import { type FormDraft, useDraftField } from '@/lib/useFormDraft';
import type { LastStart } from './lastStart';
import { type CompletedPreset, firstPreset } from './presets';
import { CUSTOM } from './ResourceChoice';

/** Resources without a field in the form, which a setup may set. */
type AccountAndQos = Pick<ResourceRequest, 'account' | 'qos'>;

const isAccountAndQos: (value: unknown) => value is AccountAndQos = isRecordOf(isText);

const accountAndQosOf = ({ account, qos }: ResourceRequest): AccountAndQos => ({
  ...(account ? { account } : {}),
  ...(qos ? { qos } : {}),
});

export interface StartResources {
  /** the site's presets, missing fields filled in by the portal for this environment */
  presets: readonly CompletedPreset[];
  /** undefined for custom resources */
  chosenPreset: Preset | undefined;
  values: ResourceFormValues;
  /** the portal's last answer: the errors of custom resources and of the session's name */
  errors: readonly FieldError[];
  /** whether that answer is about exactly these values */
  isCurrent: boolean;
  /** the explicit fields, without those that the portal has filled in */
  explicit: ExplicitResources;
  accountAndQos: AccountAndQos;
  /** the choice to remember for the next start */
  choice: Pick<LastStart, 'preset' | 'custom'>;
  choosePreset: (name: string) => void;
  setValues: (values: ResourceFormValues) => void;
  /** replaces the resources by these, as custom ones */
  setCustom: (resources: ExplicitResources) => void;
  /** the same, with account and QOS */
  setCustomWithAccount: (resources: ResourceRequest) => void;
  /** asks the portal again */
  askAgain: () => void;
}

const isResourceSources = isLike<ResourceSources>({
  base: isExplicitResources,
  typed: isExplicitResources,
});

/** Return the resources that have a field in the form, without empty ones. */
const formResourcesOf = ({
  account: _,
  qos: __,
  nodes: ___,
  ...resources
}: ExplicitResources): ExplicitResources =>
  Object.fromEntries(Object.entries(resources).filter(([, value]) => value != null));

/** Keep the resources: a preset of the site, or custom ones; null until the portal answers. */
export function useStartResources(
  cluster: Cluster,
  environment: Environment | undefined,
  sessionName: string,
  requested: ResourceRequest | null,
  lastStart: LastStart,
  draft: FormDraft,
): { resources: StartResources | null; failure: Error | null; retry: () => void } {
  const [chosenName, choose] = useDraftField<string | null>(
    draft,
    'preset',
    () =>
      requested !== null || (lastStart.custom && lastStart.preset === null)
        ? CUSTOM
        : lastStart.preset,
    isText,
  );
  const [custom, setCustomSources] = useDraftField<ResourceSources>(
    draft,
    'custom',
    () => ({ base: formResourcesOf(requested ?? lastStart.custom ?? {}), typed: {} }),
    isResourceSources,
  );
  const [accountAndQos, setAccountAndQos] = useDraftField<AccountAndQos>(
    draft,
    'accountAndQos',
    () => accountAndQosOf(requested ?? {}),
    isAccountAndQos,
  );
  const purpose = environment === undefined ? {} : { environment: environment.name };
  const requests = [
    toExplicitResources(custom),
    ...cluster.presets.map(({ resources }) => formResourcesOf(resources)),
  ];
  const { answer, isCurrent, failure, askAgain } = useAnswer(
    { requests, name: sessionName || null },
    (settled) => resolvedResourcesQuery(purpose, settled.requests, settled.name),
  );
  const [completedCustom, ...completedPresets] = answer?.items ?? [];
  if (answer === undefined || completedCustom === undefined)
    return { resources: null, failure, retry: askAgain };

  const presets = cluster.presets.flatMap((preset, index): CompletedPreset[] => {
    const completed = completedPresets[index];
    if (completed === undefined) return [];
    const values = toValues(completed.resources, formResourcesOf(preset.resources), cluster);
    return [{ preset, values, problem: translate(completed.errors[0]?.message) }];
  });
  const chosen =
    chosenName === CUSTOM || environment === undefined
      ? undefined
      : firstPreset(presets, environment, chosenName);
  const values =
    chosen?.values ?? toValues(completedCustom.resources, toExplicitResources(custom), cluster);
  const setCustom = (resources: ExplicitResources): void => {
    setCustomSources({ base: formResourcesOf(resources), typed: {} });
    choose(CUSTOM);
  };
  const resources: StartResources = {
    presets,
    chosenPreset: chosen?.preset,
    values,
    errors: [...(chosen ? [] : completedCustom.errors), ...answer.errors],
    isCurrent,
    explicit: chosen ? formResourcesOf(chosen.preset.resources) : toExplicitResources(custom),
    accountAndQos,
    choice: {
      preset: chosen?.preset.name ?? null,
      custom:
        Object.keys(custom.base).length + Object.keys(custom.typed).length > 0
          ? toExplicitResources(custom)
          : null,
    },
    choosePreset: (name) => {
      if (name === CUSTOM) setCustom(values);
      else choose(name);
    },
    setValues: (next) =>
      setCustomSources(({ base, typed }) => ({
        base,
        typed: { ...typed, ...changesOf(values, next) },
      })),
    setCustom,
    setCustomWithAccount: (all) => {
      setCustom(all);
      setAccountAndQos(accountAndQosOf(all));
    },
    askAgain,
  };
  return { resources, failure: null, retry: askAgain };
}
