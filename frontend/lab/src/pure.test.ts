import { describe, expect, it } from 'vitest';
import { extensionChoices } from '@/features/sessions/extend';
import { readSubmitLink } from '@/features/submit/link';
import type { CurrentUsage, Facts, Gpu } from './facts';
import { runAddress } from './notebook';
import { clockOffset, urgency, warningDue } from './time';
import { brief, details, isMemoryScarce, size } from './usage';

const MIN = 60_000;
const GB = 1024 ** 3;

const facts = (gpus: number): Facts => ({
  now: '2026-11-22T10:00:00Z',
  session: {
    name: 's1',
    node: 'node01',
    environment: 'python3',
    resources: {
      partition: null,
      nodes: 1,
      gpus,
      gpu_type: null,
      cpus: 1,
      memory_gb: null,
      time_limit_minutes: null,
      account: null,
      qos: null,
    },
    state: 'running',
    expires_at: null,
    extension: null,
    idle_since: null,
  },
  pages: { session: '', tensorboard: '', run_notebook: '', start_again: '' },
});

describe('the end of a session', () => {
  it('becomes more urgent', () => {
    expect([16 * MIN, 15 * MIN, 5.1 * MIN, 5 * MIN, -1].map(urgency)).toEqual([
      'calm',
      'soon',
      'soon',
      'urgent',
      'urgent',
    ]);
  });

  it('has two warnings, and one if JupyterLab is opened late', () => {
    expect(warningDue(16 * MIN, null)).toBeNull();
    expect(warningDue(14 * MIN, null)).toBe(15 * MIN);
    expect(warningDue(13 * MIN, 15 * MIN)).toBeNull();
    expect(warningDue(4 * MIN, 15 * MIN)).toBe(5 * MIN);
    expect(warningDue(3 * MIN, 5 * MIN)).toBeNull();
    expect(warningDue(3 * MIN, null)).toBe(5 * MIN);
    expect(warningDue(0, null)).toBeNull();
  });

  it("is counted by the portal's clock", () => {
    expect(clockOffset('2026-11-22T10:00:00Z', Date.UTC(2026, 10, 22, 9))).toBe(60 * MIN);
    expect(clockOffset('no time', 5)).toBe(0);
  });

  it('can be extended in steps, or by the maximum', () => {
    expect(extensionChoices(240)).toEqual([60, 120, 240]);
    expect(extensionChoices(90)).toEqual([60]);
    expect(extensionChoices(25)).toEqual([25]);
    expect(extensionChoices(0)).toEqual([]);
  });
});

describe('the usage of a session', () => {
  const gpu = (over: Partial<Gpu> = {}): Gpu => ({
    name: 'H200',
    use_percent: 30,
    memory_used_bytes: 3 * GB,
    memory_bytes: 80 * GB,
    ...over,
  });
  const memory = { used_bytes: 1.25 * GB, limit_bytes: 6 * GB };

  it('has a brief description', () => {
    expect(brief(facts(1), { memory, gpus: [gpu()] })).toBe(
      'node01 · Memory 1.3 GB of 6 GB · GPU 30 % 3 GB of 80 GB',
    );
    expect(brief(facts(2), { memory, gpus: [gpu(), gpu({ use_percent: 91 })] })).toContain(
      '2 GPUs 61 % 6 GB of 160 GB',
    );
    expect(brief(facts(0), { memory: { ...memory, limit_bytes: null }, gpus: null })).toBe(
      'node01 · Memory 1.3 GB',
    );
  });

  it('is omitted if the node reports nothing', () => {
    const nothing: CurrentUsage = { memory: null, gpus: null };
    expect(brief(facts(0), nothing)).toBe('node01');
    expect(brief(facts(1), nothing)).toBe('node01 · GPU: n/a');
    expect(brief(null, nothing)).toBe('');
    expect(details(facts(0), nothing)).toContain('has no GPU');
    expect(details(facts(2), nothing)).toMatch(/does not report how much memory.*\n2 GPUs\. This/s);
    const silent = gpu({ use_percent: null, memory_used_bytes: null });
    expect(brief(facts(1), { memory: null, gpus: [silent] })).toBe('node01 · GPU: n/a');
    expect(details(facts(1), { memory, gpus: [silent] })).toContain('H200: not known, not known');
  });

  it('is marked once little memory is left', () => {
    const used = (used_bytes: number): CurrentUsage => ({
      memory: { ...memory, used_bytes },
      gpus: null,
    });
    expect(isMemoryScarce(used(5.3 * GB))).toBe(false);
    expect(isMemoryScarce(used(5.5 * GB))).toBe(true);
    expect(isMemoryScarce({ memory: { ...memory, limit_bytes: null }, gpus: null })).toBe(false);
    expect(isMemoryScarce({ memory: null, gpus: null })).toBe(false);
  });

  it("is counted in Slurm's units", () => {
    expect(
      [0, 1023, 1536, 5.04 * 1024 ** 2, 1.96 * GB, 12.3 * GB, 3 * 1024 * GB].map(size),
    ).toEqual(['0 B', '1023 B', '2 KB', '5 MB', '2 GB', '12 GB', '3 TB']);
  });
});

describe('a notebook as a job', () => {
  const form = 'https://portal.example/jobs/new';
  /** Parse an address like the portal's router. */
  const read = (address: string): Record<string, unknown> =>
    Object.fromEntries(
      [...new URL(address).searchParams].map(([name, value]) => {
        try {
          return [name, JSON.parse(value)];
        } catch {
          return [name, value];
        }
      }),
    );

  it.each(['a.ipynb', 'work/Ä & ö + #1?.ipynb', '"quoted" {x}.ipynb', '100%.ipynb'])(
    'fills the form in with %s',
    (path) => {
      const search = read(runAddress(form, path, 'python3'));
      expect(search.template).toBe('notebook');
      expect(readSubmitLink(search)).toEqual({
        environment: 'python3',
        parameters: { notebook: `~/${path}` },
      });
    },
  );

  it('keeps an environment that looks like a number', () => {
    expect(read(runAddress(form, 'a.ipynb', '2')).environment).toBe('2');
    expect(read(runAddress(form, 'a.ipynb', null))).not.toHaveProperty('environment');
  });
});
