/** A recorded response of the portal, written by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

export const limits = {
  username: 'carol',
  groups: ['portal-admins', 'portal-users'],
  effective: {
    gpus: {
      value: null,
      from: null,
      otherwise: null,
    },
    gpus_by_type: {
      value: null,
      from: null,
      otherwise: null,
    },
    sessions: {
      value: null,
      from: null,
      otherwise: null,
    },
    jobs: {
      value: null,
      from: null,
      otherwise: null,
    },
    cpus: {
      value: null,
      from: null,
      otherwise: null,
    },
    memory_gb: {
      value: null,
      from: null,
      otherwise: null,
    },
    time_limit_minutes: {
      value: null,
      from: null,
      otherwise: null,
    },
    partitions: {
      value: null,
      from: null,
      otherwise: null,
    },
    accounts: {
      value: null,
      from: null,
      otherwise: null,
    },
    qos: {
      value: null,
      from: null,
      otherwise: null,
    },
  },
  limits: [],
  use: {
    gpus: 0,
    gpus_by_type: {},
    sessions: 1,
    jobs: 1,
    cpus: 2,
    memory_gb: 1.25,
  },
  together: [],
  slurm: null,
  problem: null,
  no_session: null,
  group_use: [],
} satisfies Answer<'/api/v1/me/limits'>;
