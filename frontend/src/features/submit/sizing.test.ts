import { describe, expect, it } from 'vitest';
import type { Cluster, ResolvedResources, Sizing } from '@/api/types';
import { toJobValues } from './request';
import { hasOtherShape, hasSuggestions, suggestedFields, withSuggestions } from './sizing';
import { fieldsText, hintTexts } from './sizingTexts';

const cluster = {
  partitions: [{ name: 'all', default: true }],
} as unknown as Cluster;

const RESOURCES: ResolvedResources = {
  partition: 'all',
  nodes: 1,
  gpus: 0,
  gpu_type: null,
  cpus: 8,
  memory_gb: 16,
  time_limit_minutes: 240,
  account: null,
  qos: null,
};
const base = toJobValues(RESOURCES, {}, cluster);

const SIZED_CPUS = { used: 1.23, asked: 8, suggested: 2, exceeded: false };
const SIZING: Sizing = {
  runs: 3,
  cpus: SIZED_CPUS,
  memory_gb: { used: 3.1, asked: 16, suggested: 4, exceeded: false },
  time_limit_minutes: { used: 20, asked: 240, suggested: 45, exceeded: false },
};

/** The portal's answer, with errors for these fields. */
const completedWith = (sizing: Sizing, ...rejected: string[]) => ({
  requested: withSuggestions({}, sizing)[1] ?? {},
  resources: RESOURCES,
  errors: rejected.map((name) => ({ field: `resources.${name}`, message: 'Too much.' })),
});

describe('suggestions', () => {
  it('are the fields that differ', () => {
    const fields = suggestedFields(SIZING, base, completedWith(SIZING));
    expect(fields).toEqual({ cpus: 2, memory_gb: 4, time_limit_minutes: 45 });
    const sized = toJobValues(RESOURCES, fields, cluster);
    expect(hasSuggestions(sized, fields)).toBe(true);
    expect(hasSuggestions(base, fields)).toBe(false);
  });

  it('omit unknown and unchanged fields', () => {
    const memory = { used: 3.1, asked: 16, suggested: null, exceeded: false };
    const partial: Sizing = { ...SIZING, cpus: null, memory_gb: memory };
    const fields = suggestedFields(partial, base, completedWith(partial));
    expect(fields).toEqual({ time_limit_minutes: 45 });
    expect(suggestedFields(undefined, base, undefined)).toEqual({});
    expect(withSuggestions({ gpus: 1 }, undefined)).toEqual([{ gpus: 1 }]);
  });

  it('omit fields that the portal refuses or has not validated', () => {
    const checked = completedWith(SIZING, 'memory_gb', 'time_limit_minutes');
    expect(suggestedFields(SIZING, base, checked)).toEqual({ cpus: 2 });
    expect(suggestedFields(SIZING, base, undefined)).toEqual({});
    const earlier = completedWith({ ...SIZING, cpus: { ...SIZED_CPUS, suggested: 3 } });
    expect(suggestedFields(SIZING, base, earlier)).not.toHaveProperty('cpus');
  });

  it('detect different GPUs or nodes', () => {
    expect(hasOtherShape(base, base)).toBe(false);
    expect(hasOtherShape({ ...base, nodes: 2 }, base)).toBe(true);
    expect(hasOtherShape({ ...base, node: { ...base.node, gpus: 1 } }, base)).toBe(true);
  });
});

describe('the sentences', () => {
  const fields = suggestedFields(SIZING, base, completedWith(SIZING));

  it('show usage and numbers that are too large', () => {
    expect(hintTexts(SIZING, fields, 'template')).toEqual([
      "Your last 3 runs used at most 3.1 GB of memory; the template's value is 16 GB.",
      "Your last 3 runs used at most 1.2 CPUs on average; the template's value is 8 CPUs.",
      "Your last 3 runs took at most 20 min; the template's value is 4 h.",
    ]);
    const [text] = hintTexts({ ...SIZING, runs: 1 }, { memory_gb: 4 }, 'job');
    expect(text).toBe('Your last run used 3.1 GB of memory; that job requested 16 GB.');
  });

  it('name runs that ended for lack of resources', () => {
    const short: Sizing = {
      ...SIZING,
      memory_gb: { used: 16, asked: 16, suggested: 32, exceeded: true },
      time_limit_minutes: { used: 240, asked: null, suggested: 480, exceeded: true },
    };
    expect(hintTexts(short, { memory_gb: 32, time_limit_minutes: 480 }, 'job')).toEqual([
      'One of your last runs was ended because 16 GB of memory was not enough.',
      'One of your last runs was ended because 4 h was not enough.',
    ]);
    expect(fieldsText({ memory_gb: 32, cpus: 1, time_limit_minutes: 480 })).toBe(
      '32 GB, 1 CPU, 8 h',
    );
  });
});
