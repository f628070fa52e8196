import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { fieldMessage } from '@/api/problem';
import type {
  Cluster,
  Environment,
  PersonLimits,
  Preset,
  SessionRequest,
  SomeResources,
} from '@/api/types';
import { useMe } from '@/features/account/useMe';
import { myLimitsQuery } from '@/features/limits/queries';
import { isRecordOf, isText, orNull } from '@/lib/drafts';
import { type FormDraft, useFormDraft, useKept } from '@/lib/useFormDraft';
import { isLive } from '@/live/reducer';
import { useLive } from '@/live/store';
import { checkResources, type Draft, nameProblem, type Problems } from './check';
import { firstPreset, isDraft, toDraft, toResources } from './draft';
import { type Asked, firstAvailable, missingText } from './environments';
import { limitProblems, noRoomForSession } from './limits';
import { linkResources, type StartLink } from './link';
import { OWN } from './ResourceChoice';
import { resourceRefusals } from './refusal';
import { type Remembered, recall, remember } from './remembered';

/** What a form is filled in with: a link, a saved setup. */
export interface Given {
  environment: string;
  resources: SomeResources;
}

export interface StartFormState {
  cluster: Cluster;
  environment: Environment | undefined;
  /** why another environment is chosen than a link or a setup asks for */
  missing: string | null;
  chooseEnvironment: (name: string) => void;
  /** the chosen preset's name, or OWN */
  preset: string;
  choosePreset: (name: string) => void;
  ownNumbers: boolean;
  draft: Draft;
  setDraft: (draft: Draft) => void;
  /** own numbers, whatever was chosen before */
  takeDraft: (resources: SomeResources) => void;
  /** all at once, as a saved setup has it */
  take: (given: Given) => void;
  /** what is wrong with these numbers in the chosen environment, for whoever asks */
  check: (draft: Draft) => Problems;
  problems: Problems;
  /** why no session at all can be started */
  noRoom: string | null;
  name: string;
  setName: (name: string) => void;
  nameProblem: string | null;
  /** the notebook to begin with, one of the environment's; null: none */
  starter: string | null;
  setStarter: (name: string | null) => void;
  starterProblem: string | null;
  blocked: boolean;
  /** what the portal answered to the last attempt, until something is changed */
  refusal: unknown;
  refuse: (error: unknown) => void;
  request: () => SessionRequest;
  /** what this tab keeps of the form until it is sent */
  kept: FormDraft;
  /** it was sent: the next one begins with the same choices */
  done: () => void;
}

/** What no field shows, but a setup may ask for. */
type More = Pick<SomeResources, 'account' | 'qos'>;

const isMore: (left: unknown) => left is More = isRecordOf(isText);

function useCluster(): Cluster {
  const cluster = useLive((s) => s.cluster);
  if (cluster === null) throw new Error('the form is shown only once the cluster is known');
  return cluster;
}

const moreOf = ({ account, qos }: SomeResources): More => ({
  ...(account ? { account } : {}),
  ...(qos ? { qos } : {}),
});

/** The starter notebook: as chosen, else the first one for whoever has never had a session. */
function useStarter(
  environment: Environment | undefined,
  given: string | undefined,
  kept: FormDraft,
) {
  const none = useLive((s) => s.sessions?.length === 0);
  // A session that comes meanwhile, maybe this form's own, changes nothing in it.
  const [newcomer] = useState(none);
  const [chosen, choose] = useKept<string | null | undefined>(
    kept,
    'starter',
    () => given,
    orNull(isText),
  );
  const starters = environment?.starters ?? [];
  const wanted = chosen === undefined ? (newcomer ? starters[0] : null) : chosen;
  return { starter: starters.find((name) => name === wanted) ?? null, choose };
}

interface Numbers {
  preset: Preset | undefined;
  draft: Draft;
  /** account and QOS */
  more: More;
  /** what is remembered of it */
  chosen: Pick<Remembered, 'preset' | 'own'>;
  choosePreset: (name: string) => void;
  setOwn: (draft: Draft) => void;
  /** own numbers, whatever was chosen before */
  take: (resources: SomeResources) => void;
  /** the same with account and QOS, and what is not said as this environment has it */
  takeAll: (resources: SomeResources, of: Environment | undefined) => void;
}

/** The resources: a preset of the site's, or one's own numbers. */
function useNumbers(
  environment: Environment | undefined,
  limits: PersonLimits | undefined,
  asked: SomeResources | null,
  last: Remembered,
  kept: FormDraft,
): Numbers {
  const cluster = useCluster();
  const defaults = environment?.default_resources ?? {};
  const [chosen, choose] = useKept<string | null>(
    kept,
    'preset',
    () => (asked !== null || (last.own && last.preset === null) ? OWN : last.preset),
    isText,
  );
  const [own, setOwn] = useKept<Draft | null>(
    kept,
    'own',
    () => (asked === null ? last.own : toDraft(asked, defaults, cluster)),
    isDraft,
  );
  const [more, setMore] = useKept<More>(kept, 'more', () => moreOf(asked ?? {}), isMore);
  const preset =
    chosen === OWN || environment === undefined
      ? undefined
      : firstPreset(cluster, environment, chosen, (wish) => limitProblems(wish, limits));
  const draft =
    preset === undefined
      ? (own ?? toDraft({}, defaults, cluster))
      : toDraft(preset.resources, defaults, cluster);
  const takeOwn = (resources: SomeResources, base: SomeResources): void => {
    setOwn(toDraft(resources, base, cluster));
    choose(OWN);
  };
  return {
    preset,
    draft,
    more,
    chosen: { preset: preset?.name ?? null, own: preset === undefined ? draft : own },
    choosePreset: (name) => {
      if (name === OWN) setOwn(draft);
      choose(name);
    },
    setOwn,
    take: (resources) => takeOwn(resources, defaults),
    takeAll: (resources, of) => {
      takeOwn(resources, of?.default_resources ?? {});
      setMore(moreOf(resources));
    },
  };
}

/** Everything the start form holds: choices, what is wrong with them, and the request they make. */
export function useStartForm(environments: Environment[], link: StartLink): StartFormState {
  const cluster = useCluster();
  const sessions = useLive((s) => s.sessions);
  const { data: limits } = useQuery(myLimitsQuery);
  const { username } = useMe();
  const [last] = useState(() => recall(username));
  const kept = useFormDraft('start', Object.keys(link).length > 0);
  const [environmentName, setEnvironmentName] = useKept<string | undefined>(
    kept,
    'environment',
    () => firstAvailable(environments, link.environment, last.environment)?.name,
    (left): left is string => environments.some((e) => e.name === left && e.available),
  );
  const [asked, setAsked] = useState<Asked | null>(
    link.environment === undefined ? null : { by: 'link', name: link.environment },
  );
  const environment = environments.find((e) => e.name === environmentName);
  const numbers = useNumbers(environment, limits, linkResources(link), last, kept);
  const { preset, draft } = numbers;
  const { starter, choose: chooseStarter } = useStarter(environment, link.starter, kept);
  const [name, setName] = useKept(kept, 'name', () => '', isText);
  const [refusal, setRefusal] = useState<unknown>(null);

  const check = (wish: Draft): Problems => ({
    ...limitProblems(wish, limits),
    ...checkResources(wish, cluster, environment),
  });
  const found = check(draft);
  const taken = (sessions ?? []).filter(isLive).map((s) => s.name);
  const wrongName = nameProblem(name.trim(), taken);
  const noRoom = noRoomForSession(limits);

  /** A change answers the last refusal. */
  const change =
    <T>(act: (value: T) => void) =>
    (value: T): void => {
      setRefusal(null);
      act(value);
    };

  return {
    cluster,
    environment,
    missing: missingText(environments, asked),
    chooseEnvironment: change(setEnvironmentName),
    preset: preset?.name ?? OWN,
    choosePreset: change(numbers.choosePreset),
    ownNumbers: preset === undefined,
    draft,
    setDraft: change(numbers.setOwn),
    takeDraft: change((resources: SomeResources) => numbers.take(resources)),
    check,
    take: change((given: Given) => {
      const chosen = firstAvailable(environments, given.environment, environmentName);
      numbers.takeAll(given.resources, chosen);
      setEnvironmentName(chosen?.name);
      setAsked({ by: 'setup', name: given.environment });
    }),
    problems: { ...found, ...resourceRefusals(refusal) },
    noRoom,
    name,
    setName: change(setName),
    nameProblem: wrongName ?? fieldMessage(refusal, 'name') ?? null,
    starter,
    setStarter: change(chooseStarter),
    starterProblem: fieldMessage(refusal, 'starter') ?? null,
    blocked: Object.keys(found).length > 0 || wrongName !== null || noRoom !== null,
    refusal,
    refuse: (error) => {
      setRefusal(error);
      if (Object.keys(resourceRefusals(error)).length > 0) numbers.take(draft);
    },
    request: () => ({
      environment: environment?.name ?? '',
      resources: { ...toResources(draft), ...numbers.more },
      ...(name.trim() === '' ? {} : { name: name.trim() }),
      ...(starter === null ? {} : { starter }),
    }),
    kept,
    done: () => {
      remember(username, { environment: environment?.name ?? null, ...numbers.chosen });
      kept.drop();
    },
  };
}
