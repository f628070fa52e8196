/** All recorded responses by path, and the matching events of the stream. */
import type { components } from '@/api/schema';
import type { Job, Session } from '@/api/types';
import { arrayJob } from './answers/arrayJob';
import { environments } from './answers/environments';
import { failedJob } from './answers/failedJob';
import { failedLog } from './answers/failedLog';
import { jobCount } from './answers/jobCount';
import { jobs } from './answers/jobs';
import { limits } from './answers/limits';
import { packages } from './answers/packages';
import { recentSetups } from './answers/recentSetups';
import { sessions } from './answers/sessions';
import { sessionUse } from './answers/sessionUse';
import { setups } from './answers/setups';
import { space } from './answers/space';
import { template } from './answers/template';
import { templates } from './answers/templates';
import type { Answers, Scene } from './page';

function inState<T extends { state: string }>(all: readonly T[], state: string): T {
  const match = all.find((item) => item.state === state);
  if (match === undefined) throw new Error(`Nothing that is ${state} was recorded.`);
  return match;
}

export const runningSession: Session = inState(sessions.items, 'running');
export const endedSession: Session = inState(sessions.items, 'ended');
export const runningJob: Job = inState(jobs.items, 'running');

/** Complete resources like a site whose partition is the environment's or the first. */
function completeResources(body: components['schemas']['CompletionIn']) {
  const { default_resources: defaults } =
    environments.items.find(({ name }) => name === body.environment) ?? template;
  return {
    items: body.requests.map((request) => ({
      ...defaults,
      time_limit_minutes: defaults.time_limit_minutes ?? 240,
      ...request,
      errors: [],
    })),
    errors: [],
  };
}

export const answers: Answers = {
  '/resources': completeResources,
  '/me/limits': limits,
  '/setups': setups,
  '/setups/recent': recentSetups,
  '/files/space': space,
  '/environments': environments,
  '/environments/python3/packages': packages,
  '/templates': templates,
  [`/templates/${template.name}`]: template,
  '/jobs': jobs,
  '/jobs/count': jobCount,
  [`/jobs/${failedJob.id}`]: failedJob,
  [`/jobs/${failedJob.id}/log`]: failedLog,
  [`/jobs/${arrayJob.id}`]: arrayJob,
  [`/sessions/${runningSession.id}`]: runningSession,
  [`/sessions/${runningSession.id}/use`]: sessionUse,
};

/** A scene with all recorded data. */
export const FULL: Scene = { answers, snapshot: { sessions: sessions.items, jobs: jobs.items } };
