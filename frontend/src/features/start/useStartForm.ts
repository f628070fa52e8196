import { useState } from 'react';
import { fieldMessage } from '@/api/problem';
import type { Cluster, Environment, SessionRequest } from '@/api/types';
import { isLive } from '@/live/reducer';
import { useLive } from '@/live/store';
import { checkResources, type Draft, nameProblem, type Problems } from './check';
import { firstPreset, toDraft, toResources } from './draft';
import { OWN } from './ResourceChoice';
import { resourceRefusals } from './refusal';
import { recall, remember } from './remembered';

export interface StartFormState {
  cluster: Cluster;
  environment: Environment | undefined;
  chooseEnvironment: (name: string) => void;
  /** the chosen preset's name, or OWN */
  preset: string;
  choosePreset: (name: string) => void;
  ownNumbers: boolean;
  draft: Draft;
  setDraft: (draft: Draft) => void;
  problems: Problems;
  name: string;
  setName: (name: string) => void;
  nameProblem: string | null;
  blocked: boolean;
  /** what the portal answered to the last attempt, until something is changed */
  refusal: unknown;
  refuse: (error: unknown) => void;
  request: () => SessionRequest;
  keep: () => void;
}

function useCluster(): Cluster {
  const cluster = useLive((s) => s.cluster);
  if (cluster === null) throw new Error('the form is shown only once the cluster is known');
  return cluster;
}

function firstEnvironment(all: Environment[], remembered: string | null): Environment | undefined {
  const available = all.filter((e) => e.available);
  return available.find((e) => e.name === remembered) ?? available[0];
}

/** Everything the start form holds: choices, what is wrong with them, and the request they make. */
export function useStartForm(environments: Environment[]): StartFormState {
  const cluster = useCluster();
  const sessions = useLive((s) => s.sessions);
  const [last] = useState(recall);
  const [environmentName, setEnvironmentName] = useState(
    () => firstEnvironment(environments, last.environment)?.name,
  );
  const environment = environments.find((e) => e.name === environmentName);
  const defaults = environment?.default_resources ?? {};
  const [chosenPreset, setChosenPreset] = useState<string | null>(
    last.own && last.preset === null ? OWN : last.preset,
  );
  const [own, setOwn] = useState<Draft | null>(last.own);
  const [name, setName] = useState('');
  const [refusal, setRefusal] = useState<unknown>(null);

  const preset =
    chosenPreset === OWN || environment === undefined
      ? undefined
      : firstPreset(cluster, environment, chosenPreset);
  const draft =
    preset === undefined
      ? (own ?? toDraft({}, defaults, cluster))
      : toDraft(preset.resources, defaults, cluster);
  const problems = { ...checkResources(draft, cluster, environment), ...resourceRefusals(refusal) };
  const found = checkResources(draft, cluster, environment);
  const taken = (sessions ?? []).filter(isLive).map((s) => s.name);
  const wrongName = nameProblem(name.trim(), taken);

  /** A change answers the last refusal. */
  const change = (act: () => void): void => {
    setRefusal(null);
    act();
  };

  return {
    cluster,
    environment,
    chooseEnvironment: (value) => change(() => setEnvironmentName(value)),
    preset: preset?.name ?? OWN,
    choosePreset: (value) =>
      change(() => {
        if (value === OWN) setOwn(draft);
        setChosenPreset(value);
      }),
    ownNumbers: preset === undefined,
    draft,
    setDraft: (value) => change(() => setOwn(value)),
    problems,
    name,
    setName: (value) => change(() => setName(value)),
    nameProblem: wrongName ?? fieldMessage(refusal, 'name') ?? null,
    blocked: Object.keys(found).length > 0 || wrongName !== null,
    refusal,
    refuse: (error) => {
      setRefusal(error);
      if (Object.keys(resourceRefusals(error)).length === 0) return;
      setOwn(draft);
      setChosenPreset(OWN);
    },
    request: () => ({
      environment: environment?.name ?? '',
      resources: toResources(draft),
      ...(name.trim() === '' ? {} : { name: name.trim() }),
    }),
    keep: () =>
      remember({
        environment: environment?.name ?? null,
        preset: preset?.name ?? null,
        own: preset === undefined ? draft : own,
      }),
  };
}
