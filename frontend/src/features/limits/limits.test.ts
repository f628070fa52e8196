import { describe, expect, it } from 'vitest';
import { formErrors, isEmptyLimit, namesOf, rebased, toApiValues, toLimitValues } from './draft';
import {
  associationText,
  ceilingText,
  defaultFallbacks,
  emptyText,
  fallbacksOf,
  figuresText,
  groupTotalValues,
  limitText,
  limitValueText,
  managerMaySet,
  originText,
  usageText,
} from './labels';
import { readLimitsSearch } from './search';
import type { Values } from './types';
import { bars } from './usage';

const NOTHING: Values = {
  gpus: null,
  gpus_by_type: null,
  sessions: null,
  jobs: null,
  cpus: null,
  memory_gb: null,
  time_limit_minutes: null,
  partitions: null,
  accounts: null,
  qos: null,
};

describe('a limit as text', () => {
  it('has its unit, or says that there is none', () => {
    expect(limitValueText('gpus', 1)).toBe('1 GPU');
    expect(limitValueText('gpus', 0)).toBe('0 GPUs');
    expect(limitValueText('gpus', null)).toBe('no limit');
    expect(limitValueText('time_limit_minutes', 90)).toBe('1 h 30 min');
    expect(limitValueText('partitions', ['gpu', 'cpu'])).toBe('gpu, cpu');
    expect(limitValueText('partitions', null)).toBe('any');
    expect(limitValueText('gpus_by_type', { v100: 2, a100: 1 })).toBe('2 v100, 1 a100');
    expect(limitValueText('memory_gb', 64)).toBe('64 GB');
  });

  it('names the source', () => {
    expect(originText({ scope: 'member', name: 'vision' })).toBe('as a member of vision');
    expect(originText({ scope: 'user', name: 'alice' }, 'alice')).toBe('personal limit');
    expect(originText(null)).toBe('');
  });

  it('shows the value that applies for an empty field', () => {
    const from = { scope: 'default', name: '' } as const;
    expect(emptyText('gpus', { value: 4, from })).toBe('If empty: 4 GPUs, by default');
    expect(emptyText('gpus', null)).toBe('If empty: no limit');
    expect(emptyText('accounts', null)).toMatch(/the user has; without any, nothing/);
    expect(emptyText('gpus', undefined)).toBe('');
  });

  it('lists only fields that are set', () => {
    expect(limitText(NOTHING)).toBe('');
    expect(limitText({ ...NOTHING, gpus: 4, memory_gb: 64, qos: ['long'] })).toBe(
      '4 GPUs, 64 GB of memory, QOS: long',
    );
  });
});

describe('current usage', () => {
  it('is described in a few words', () => {
    expect(usageText({ gpus: 2, sessions: 1, jobs: 0, cpus: 9 })).toBe('2 GPUs, 1 session');
    expect(usageText({ gpus: 0, sessions: 0, jobs: 0 })).toBe('nothing');
    expect(usageText({ gpus: null, sessions: 0, jobs: 0 })).toBe('– GPUs');
  });
});

describe('the values a manager may set', () => {
  it('are limited by the group', () => {
    const ceiling = { gpus: { value: 4 }, jobs: { value: null }, partitions: { value: ['gpu'] } };
    expect(ceilingText('gpus', ceiling)).toBe('Up to 4 GPUs');
    expect(ceilingText('partitions', ceiling)).toBe('Choose from: gpu');
    expect(ceilingText('jobs', ceiling)).toBe('');
    expect(managerMaySet('jobs', ceiling)).toBe(true);
    expect(managerMaySet('partitions', ceiling)).toBe(true);
    expect(managerMaySet('qos', ceiling)).toBe(false);
  });
});

describe('an association', () => {
  it('has a name and figures as text', () => {
    expect(associationText({ account: 'research', username: 'bob', partition: '' })).toBe(
      'bob in Slurm account research',
    );
    expect(associationText({ account: 'research', username: '', partition: 'gpu' })).toBe(
      'All of Slurm account research, partition gpu',
    );
    expect(figuresText({ 'GPUs at once': '2', 'Time limit': '60 minutes' })).toBe(
      'GPUs at once: 2; Time limit: 60 minutes',
    );
    expect(figuresText({})).toBe('nothing');
    expect(figuresText({ 'Pending and running jobs': '0' }, 'debug')).toBe('closed: no jobs here');
    expect(figuresText({ 'Pending and running jobs': '0' })).toBe('Pending and running jobs: 0');
  });

  it('has fallbacks for fields that a limit leaves unset', () => {
    const from = { scope: 'default', name: '' } as const;
    const fallbacks = fallbacksOf({
      gpus: { otherwise: { value: 4, from } },
      jobs: { otherwise: null },
    });
    expect(fallbacks.gpus).toEqual({ value: 4, from });
    expect(fallbacks.jobs).toBeNull();
    expect(defaultFallbacks({ ...NOTHING, cpus: 8 }).cpus).toEqual({ value: 8, from });
    expect(defaultFallbacks(undefined).cpus).toBeNull();
    expect(groupTotalValues({ ...NOTHING, gpus: 8 })).toEqual({ gpus: { value: 8, from: null } });
  });
});

describe('the form', () => {
  const limit: Values = {
    ...NOTHING,
    gpus: 4,
    gpus_by_type: { h100: 1 },
    time_limit_minutes: 100,
    partitions: ['gpu', 'cpu'],
  };

  it('converts a limit to a draft and back', () => {
    const draft = toLimitValues(limit, ['v100']);
    expect(Object.keys(draft.types)).toEqual(['v100', 'h100']);
    expect(draft.numbers.time_limit_minutes).toBe('1.67');
    expect(toApiValues(draft, limit)).toEqual(limit);
    expect(isEmptyLimit(toApiValues(toLimitValues(null, ['v100']), null))).toBe(true);
  });

  it('distinguishes zero from unset', () => {
    const draft = toLimitValues({ ...NOTHING, gpus: 0 }, []);
    expect(draft.numbers.gpus).toBe('0');
    expect(toApiValues(draft, null).gpus).toBe(0);
  });

  it('parses hours with a comma, and names with commas or spaces', () => {
    const draft = toLimitValues(null, []);
    draft.numbers.time_limit_minutes = '1,5';
    draft.lists.accounts = ' a, b  a;c ';
    expect(toApiValues(draft, null)).toMatchObject({
      time_limit_minutes: 90,
      accounts: ['a', 'b', 'c'],
    });
    expect(namesOf(' ')).toEqual([]);
  });

  it('keeps typed fields when another user has saved, and takes the others from them', () => {
    const before = toLimitValues(limit, ['v100']);
    const typed = toLimitValues({ ...limit, gpus: 8 }, ['v100']);
    const saved = toLimitValues({ ...limit, gpus: 2, cpus: 16, gpus_by_type: { a100: 3 } }, [
      'v100',
    ]);
    const draft = rebased(before, saved, typed);
    expect(draft.numbers).toMatchObject({ gpus: '8', cpus: '16' });
    expect(draft.types).toEqual({ v100: '', a100: '3', h100: '' });
    expect(draft.lists).toEqual(before.lists);
  });

  it('reports texts that are no numbers', () => {
    const draft = toLimitValues(null, ['v100']);
    draft.numbers.gpus = '-1';
    draft.numbers.cpus = '1.5';
    draft.numbers.time_limit_minutes = 'a day';
    draft.types.v100 = 'two';
    expect(Object.keys(formErrors(draft))).toEqual([
      'gpus',
      'cpus',
      'time_limit_minutes',
      'gpus_by_type.v100',
    ]);
  });
});

describe('usage bars', () => {
  const from = { scope: 'default', name: '' } as const;

  it('show the share of a limit, if there is one', () => {
    const all = bars(
      { gpus: { value: 4, from }, sessions: { value: 0, from }, jobs: { value: null, from: null } },
      { gpus: 2, sessions: 0, jobs: 7, cpus: 3, memory_gb: 0 },
    );
    expect(all.map(({ label, text, share, full }) => [label, text, share, full])).toEqual([
      ['GPUs', '2 of 4', 0.5, false],
      ['CPUs', '3 in use, no limit', null, false],
      ['Memory', '0 GB in use, no limit', null, false],
      ['Sessions', '0 of 0', 1, true],
      ['Jobs', '7 in use, no limit', null, false],
    ]);
  });

  it('are at most full, and mark an unknown value', () => {
    const effective = { gpus: { value: 4, from } };
    expect(bars(effective, { gpus: 9 })[0]).toMatchObject({ share: 1, full: true, text: '9 of 4' });
    expect(bars(effective, null)[0]).toMatchObject({ share: null, text: '– of 4' });
  });

  it('include each GPU type that is limited or used', () => {
    const all = bars(
      { gpus_by_type: { value: { v100: 2 }, from } },
      { gpus: 1, gpus_by_type: { a100: 1 }, cpus: null },
    );
    expect(all.find(({ key }) => key === 'cpus')?.text).toBe('–, no limit');
    expect(all.slice(0, 3).map(({ label, text }) => `${label} ${text}`)).toEqual([
      'GPUs 1 in use, no limit',
      'a100 GPUs 1 in use, no limit',
      'v100 GPUs 0 of 2',
    ]);
  });
});

it('reads the addresses of former versions', () => {
  expect(readLimitsSearch({ user: 'alice' })).toEqual({ user: 'alice' });
  expect(readLimitsSearch({ person: 'alice' })).toEqual({ user: 'alice' });
});
