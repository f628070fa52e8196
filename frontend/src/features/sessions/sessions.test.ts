import { describe, expect, it } from 'vitest';
import type { Session } from '@/api/types';
import { gpuRequestText, resourceTexts } from '@/lib/resourceLabels';
import { endedUnexpectedly, endReason, stateLabel } from './labels';
import { terminalPlaces } from './terminals';
import { startTimes, timelineSteps } from './timeline';

const T0 = Date.parse('2026-03-01T12:00:00Z');
const at = (ms: number): string => new Date(T0 + ms).toISOString();
type Started = Pick<Session, 'timeline' | 'submitted_at' | 'ready_at'>;

const started = (timeline: Session['timeline'], ready: string | null = null): Started => ({
  timeline,
  submitted_at: at(0),
  ready_at: ready,
});

describe('timelineSteps', () => {
  it('marks completed, current and future steps', () => {
    const steps = timelineSteps(
      started([
        { step: 'submitted', at: at(100) },
        { step: 'allocated', at: at(2100) },
      ]),
      T0 + 3000,
    );
    expect(steps.map((s) => s.state)).toEqual(['done', 'done', 'now', 'later', 'later']);
    expect(steps.map((s) => s.tookMs)).toEqual([100, 2000, 900, null, null]);
  });

  it('infers an unrecorded step from a later one', () => {
    const steps = timelineSteps(started([{ step: 'called_home', at: at(500) }]), T0 + 600);
    expect(steps.slice(0, 3).map((s) => s.state)).toEqual(['done', 'done', 'done']);
    expect(steps[3]).toMatchObject({ state: 'now', tookMs: 100 });
  });

  it('never shows negative times with skewed clocks', () => {
    const steps = timelineSteps(started([{ step: 'submitted', at: at(-50) }]), T0 - 900);
    expect(steps.every((s) => s.tookMs === null || s.tookMs >= 0)).toBe(true);
  });
});

describe('startTimes', () => {
  it("returns the total and the time in Slurm's queue", () => {
    const ready = started([{ step: 'allocated', at: at(2000) }], at(3400));
    expect(startTimes(ready)).toEqual({ totalMs: 3400, queueMs: 2000 });
    expect(startTimes(started([]))).toBeNull();
  });
});

describe('labels', () => {
  it('never calls a failure completed', () => {
    expect(stateLabel({ state: 'ended', outcome: 'failed' })).toEqual({
      label: 'Failed',
      tone: 'bad',
    });
    expect(endedUnexpectedly({ state: 'ended', outcome: 'out_of_memory' })).toBe(true);
    expect(endedUnexpectedly({ state: 'ended', outcome: 'cancelled' })).toBe(false);
    expect(endedUnexpectedly({ state: 'running', outcome: null })).toBe(false);
  });

  it("prefers the portal's own reason", () => {
    const base = { outcome: 'timeout' as const, node: null };
    expect(endReason({ ...base, reason: 'As reported.' })).toBe('As reported.');
    expect(endReason({ ...base, reason: null })).toMatch(/time limit/);
  });

  it('lists resources in words', () => {
    const resources = {
      partition: 'gpu',
      nodes: 1,
      gpus: 2,
      gpu_type: 'v100',
      cpus: 1,
      memory_gb: 0.5,
      time_limit_minutes: 90,
      account: null,
      qos: null,
    };
    expect(resourceTexts(resources)).toEqual(['2 v100 GPUs', '1 CPU', '512 MB', '1 h 30 min']);
    expect(gpuRequestText({ gpus: 0, gpu_type: null })).toBe('no GPU');
    expect(gpuRequestText({ gpus: 1, gpu_type: null })).toBe('1 GPU');
  });
});

describe('terminalPlaces', () => {
  const environment = (name: string, kernel = true, available = true) => ({
    name,
    title: name.toUpperCase(),
    kernel,
    available,
  });

  it("are the node, the session's own environment, then the others that have a kernel", () => {
    const all = [
      environment('python3'),
      environment('r'),
      environment('torch7', false),
      environment('jax', true, false),
    ];
    const places = terminalPlaces('/user/a/s1/', { environment: 'r', node: 'node01' }, all);
    expect(places.map(({ label, note, href }) => [label, note, href])).toEqual([
      ['On the node', 'node01', '/user/a/s1/portal/terminal/node'],
      ['In R', "this session's", '/user/a/s1/portal/terminal/env_r'],
      ['In PYTHON3', null, '/user/a/s1/portal/terminal/env_python3'],
    ]);
  });
});
