/** A recorded response of the portal, written by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

export const cluster = {
  gpus: [
    {
      type: 'v100',
      total: 8,
      free: 8,
    },
  ],
  cpus: {
    total: 96,
    free: 96,
  },
  memory: {
    total_gb: 384.0,
    free_gb: 384.0,
  },
  name: 'demo',
  notice: 'A demonstration on one machine: its GPUs are device nodes without hardware.',
  at: '2026-11-22T13:45:30.375870Z',
  changed_at: '2026-11-22T13:45:30.375870Z',
  stale_since: null,
  nodes: 3,
  nodes_out: 0,
  states: {
    free: 3,
  },
  partitions: [
    {
      gpus: [
        {
          type: 'v100',
          total: 8,
          free: 8,
        },
      ],
      cpus: {
        total: 64,
        free: 64,
      },
      memory: {
        total_gb: 256.0,
        free_gb: 256.0,
      },
      name: 'gpu',
      default: false,
      state: 'UP',
      max_time_minutes: 2880,
      nodes: 2,
      largest: [
        {
          gpus: {
            v100: 4,
          },
          cpus: 32,
          memory_gb: 128.0,
        },
      ],
      largest_free: [
        {
          gpus: {
            v100: 4,
          },
          cpus: 32,
          memory_gb: 128.0,
        },
      ],
    },
    {
      gpus: [],
      cpus: {
        total: 32,
        free: 32,
      },
      memory: {
        total_gb: 128.0,
        free_gb: 128.0,
      },
      name: 'cpu',
      default: true,
      state: 'UP',
      max_time_minutes: 1440,
      nodes: 1,
      largest: [
        {
          gpus: {},
          cpus: 32,
          memory_gb: 128.0,
        },
      ],
      largest_free: [
        {
          gpus: {},
          cpus: 32,
          memory_gb: 128.0,
        },
      ],
    },
    {
      gpus: [
        {
          type: 'v100',
          total: 8,
          free: 8,
        },
      ],
      cpus: {
        total: 96,
        free: 96,
      },
      memory: {
        total_gb: 384.0,
        free_gb: 384.0,
      },
      name: 'debug',
      default: false,
      state: 'UP',
      max_time_minutes: 30,
      nodes: 3,
      largest: [
        {
          gpus: {
            v100: 4,
          },
          cpus: 32,
          memory_gb: 128.0,
        },
      ],
      largest_free: [
        {
          gpus: {
            v100: 4,
          },
          cpus: 32,
          memory_gb: 128.0,
        },
      ],
    },
  ],
  gpu_memory_gb: {},
  presets: [
    {
      name: 'gpu',
      title: 'One GPU',
      description: 'Train or debug one model',
      resources: {
        partition: 'gpu',
        nodes: null,
        gpus: 1,
        gpu_type: null,
        cpus: 4,
        memory_gb: 16.0,
        time_limit_minutes: 120,
        account: null,
        qos: null,
      },
    },
    {
      name: 'two-gpus',
      title: 'Two GPUs',
      description: 'One model on two GPUs of a node',
      resources: {
        partition: 'gpu',
        nodes: null,
        gpus: 2,
        gpu_type: null,
        cpus: 8,
        memory_gb: 32.0,
        time_limit_minutes: 240,
        account: null,
        qos: null,
      },
    },
    {
      name: 'cpu',
      title: 'No GPU',
      description: 'Look at data, write code',
      resources: {
        partition: 'cpu',
        nodes: null,
        gpus: 0,
        gpu_type: null,
        cpus: 2,
        memory_gb: 8.0,
        time_limit_minutes: 120,
        account: null,
        qos: null,
      },
    },
  ],
} satisfies Answer<'/api/v1/cluster'>;
