/** A recorded response of the portal, written by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

export const cluster = {
  name: 'demo',
  notice: 'A demonstration on one machine: its GPUs are device nodes without hardware.',
  at: '2026-11-22T13:45:30.375870Z',
  stale_since: null,
  partitions: [
    {
      name: 'gpu',
      default: false,
      state: 'UP',
      max_time_minutes: 2880,
      nodes: ['node01', 'node02'],
      gpus: [
        {
          type: 'v100',
          total: 8,
          free: 8,
        },
      ],
    },
    {
      name: 'cpu',
      default: true,
      state: 'UP',
      max_time_minutes: 1440,
      nodes: ['node03'],
      gpus: [],
    },
    {
      name: 'debug',
      default: false,
      state: 'UP',
      max_time_minutes: 30,
      nodes: ['node01', 'node02', 'node03'],
      gpus: [
        {
          type: 'v100',
          total: 8,
          free: 8,
        },
      ],
    },
  ],
  nodes: [
    {
      name: 'node01',
      state: 'IDLE',
      reason: null,
      cpus: 32,
      cpus_free: 32,
      memory_gb: 128.0,
      memory_free_gb: 128.0,
      gpus: [
        {
          type: 'v100',
          total: 4,
          free: 4,
        },
      ],
      partitions: ['gpu', 'debug'],
    },
    {
      name: 'node02',
      state: 'IDLE',
      reason: null,
      cpus: 32,
      cpus_free: 32,
      memory_gb: 128.0,
      memory_free_gb: 128.0,
      gpus: [
        {
          type: 'v100',
          total: 4,
          free: 4,
        },
      ],
      partitions: ['gpu', 'debug'],
    },
    {
      name: 'node03',
      state: 'MIXED',
      reason: null,
      cpus: 32,
      cpus_free: 24,
      memory_gb: 128.0,
      memory_free_gb: 124.5,
      gpus: [],
      partitions: ['cpu', 'debug'],
    },
  ],
  gpus: [
    {
      type: 'v100',
      total: 8,
      free: 8,
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
