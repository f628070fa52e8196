import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { fieldMessage } from '@/api/problem';
import type {
  Cluster,
  Environment,
  Preset,
  SessionRequest,
  SomeResources,
  UserLimits,
} from '@/api/types';
import { myLimitsQuery } from '@/features/limits/queries';
import { linkResources, type StartLink } from '@/features/sessions/startLink';
import { isLike, isRecordOf, isText, orNull } from '@/lib/drafts';
import { type FormDraft, useFormDraft, useKept } from '@/lib/useFormDraft';
import { useMe } from '@/lib/useMe';
import { isLive } from '@/live/reducer';
import { useLive } from '@/live/store';
import { checkResources, type Draft, nameProblem, type Problems, shapeProblems } from './check';
import { completionQuery } from './completion';
import { firstPreset, type Offer, toDraft, toResources } from './draft';
import { type Asked as AskedEnvironment, firstAvailable, missingText } from './environments';
import { type LastStart, loadLastStart, saveLastStart } from './lastStart';
import { limitProblems, noRoomForSession } from './limits';
import { OWN } from './ResourceChoice';
import { resourceRefusals } from './refusal';
import {
  changesOf,
  isNamedResources,
  type NamedResources,
  type RequestedResources,
  toNamedResources,
  toSend,
} from './requestedResources';

/** What a form is filled in with: a link, a saved setup. */
export interface Given {
  environment: string;
  resources: SomeResources;
}

export interface StartFormState {
  cluster: Cluster;
  /** the presets with their numbers in the environment */
  offers: readonly Offer[];
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
  /** the problems of these numbers in the chosen environment */
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

/** The starter notebook: the chosen one, else the first for a user without earlier sessions. */
function useStarter(
  environment: Environment | undefined,
  given: string | undefined,
  kept: FormDraft,
) {
  const none = useLive((s) => s.sessions?.length === 0);
  // A session that starts since, perhaps from this form, changes nothing in it.
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
  /** the presets that the portal has completed for this environment */
  offers: readonly Offer[];
  preset: Preset | undefined;
  draft: Draft;
  /** with what is wrong with the numbers, as far as the portal has completed them */
  settled: Draft;
  /** the portal has not completed the last change yet */
  pending: boolean;
  /** what was named of it */
  named: NamedResources;
  /** account and QOS */
  more: More;
  /** what is remembered of it */
  chosen: Pick<LastStart, 'preset' | 'own'>;
  choosePreset: (name: string) => void;
  setOwn: (draft: Draft) => void;
  /** own numbers, whatever was chosen before */
  take: (resources: NamedResources) => void;
  /** the same with account and QOS */
  takeAll: (resources: SomeResources) => void;
}

const isAsked = isLike<RequestedResources>({ base: isNamedResources, typed: isNamedResources });

const numbersOf = ({
  account: _,
  qos: __,
  nodes: ___,
  ...numbers
}: NamedResources): NamedResources =>
  Object.fromEntries(Object.entries(numbers).filter(([, value]) => value != null));

/** The resources: a preset of the site's, or one's own numbers; null until the portal answers. */
function useNumbers(
  environment: Environment | undefined,
  limits: UserLimits | undefined,
  asked: SomeResources | null,
  last: LastStart,
  kept: FormDraft,
): { numbers: Numbers | null; failure: Error | null } {
  const cluster = useCluster();
  const [chosen, choose] = useKept<string | null>(
    kept,
    'preset',
    () => (asked !== null || (last.own && last.preset === null) ? OWN : last.preset),
    isText,
  );
  const [own, setOwn] = useKept<RequestedResources>(
    kept,
    'own',
    () => ({ base: numbersOf(asked ?? last.own ?? {}), typed: {} }),
    isAsked,
  );
  const [more, setMore] = useKept<More>(kept, 'more', () => moreOf(asked ?? {}), isMore);
  const { presets } = cluster;
  const purpose = environment === undefined ? {} : { environment: environment.name };
  const wanted = [toNamedResources(own), ...presets.map(({ resources }) => numbersOf(resources))];
  const { data, error, isPlaceholderData } = useQuery(completionQuery(purpose, wanted));
  const [mine, ...others] = data ?? [];
  if (mine === undefined) return { numbers: null, failure: error };

  const offers = presets.flatMap((preset, at): Offer[] => {
    const found = others[at];
    if (found === undefined) return [];
    return [{ preset, draft: toDraft(found.resources, numbersOf(preset.resources), cluster) }];
  });
  const offer =
    chosen === OWN || environment === undefined
      ? undefined
      : firstPreset(offers, cluster, environment, chosen, (draft) => limitProblems(draft, limits));
  const draft = offer?.draft ?? toDraft(mine.resources, toNamedResources(own), cluster);
  const take = (resources: NamedResources): void => {
    setOwn({ base: numbersOf(resources), typed: {} });
    choose(OWN);
  };
  const numbers: Numbers = {
    offers,
    preset: offer?.preset,
    draft,
    settled: offer?.draft ?? toDraft(mine.resources, mine.asked, cluster),
    pending: isPlaceholderData,
    named: offer ? numbersOf(offer.preset.resources) : toNamedResources(own),
    more,
    chosen: {
      preset: offer?.preset.name ?? null,
      own:
        Object.keys(own.base).length + Object.keys(own.typed).length > 0
          ? toNamedResources(own)
          : null,
    },
    choosePreset: (name) => {
      if (name === OWN) take(draft);
      else choose(name);
    },
    setOwn: (next) =>
      setOwn(({ base, typed }) => ({ base, typed: { ...typed, ...changesOf(draft, next) } })),
    take,
    takeAll: (resources) => {
      take(resources);
      setMore(moreOf(resources));
    },
  };
  return { numbers, failure: null };
}

/** Everything the start form holds: choices, what is wrong with them, and the request they make. */
export function useStartForm(
  environments: Environment[],
  link: StartLink,
): { start: StartFormState | null; failure: Error | null } {
  const cluster = useCluster();
  const sessions = useLive((s) => s.sessions);
  const { data: limits } = useQuery(myLimitsQuery);
  const { username } = useMe();
  const [last] = useState(() => loadLastStart(username));
  const kept = useFormDraft('start', Object.keys(link).length > 0);
  const [environmentName, setEnvironmentName] = useKept<string | undefined>(
    kept,
    'environment',
    () => firstAvailable(environments, link.environment, last.environment)?.name,
    (left): left is string => environments.some((e) => e.name === left && e.available),
  );
  const [asked, setAsked] = useState<AskedEnvironment | null>(
    link.environment === undefined ? null : { by: 'link', name: link.environment },
  );
  const environment = environments.find((e) => e.name === environmentName);
  const { numbers, failure } = useNumbers(environment, limits, linkResources(link), last, kept);
  const { starter, choose: chooseStarter } = useStarter(environment, link.starter, kept);
  const [name, setName] = useKept(kept, 'name', () => '', isText);
  const [refusal, setRefusal] = useState<unknown>(null);
  if (numbers === null) return { start: null, failure };
  const { preset, draft, pending } = numbers;

  const check = (draft: Draft): Problems => ({
    ...limitProblems(draft, limits),
    ...checkResources(draft, cluster, environment),
  });
  const found = check(numbers.settled);
  // The portal decides on what it hasn't completed yet, but an empty number is shown at once.
  const shape = pending ? shapeProblems(draft) : {};
  const wrong = Object.keys(pending ? shape : found).length > 0;
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

  const start: StartFormState = {
    cluster,
    offers: numbers.offers,
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
      numbers.takeAll(given.resources);
      setEnvironmentName(chosen?.name);
      setAsked({ by: 'setup', name: given.environment });
    }),
    problems: { ...found, ...shape, ...resourceRefusals(refusal) },
    noRoom,
    name,
    setName: change(setName),
    nameProblem: wrongName ?? fieldMessage(refusal, 'name') ?? null,
    starter,
    setStarter: change(chooseStarter),
    starterProblem: fieldMessage(refusal, 'starter') ?? null,
    blocked: wrong || wrongName !== null || noRoom !== null,
    refusal,
    refuse: (error) => {
      setRefusal(error);
      if (Object.keys(resourceRefusals(error)).length > 0) numbers.take(draft);
    },
    request: () => ({
      environment: environment?.name ?? '',
      resources: { ...(pending ? toSend(numbers.named) : toResources(draft)), ...numbers.more },
      ...(name.trim() === '' ? {} : { name: name.trim() }),
      ...(starter === null ? {} : { starter }),
    }),
    kept,
    done: () => {
      saveLastStart(username, { environment: environment?.name ?? null, ...numbers.chosen });
      kept.drop();
    },
  };
  return { start, failure: null };
}
