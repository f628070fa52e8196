import { describe, expect, it } from 'vitest';
import { missingChartTexts, type NodeRequest, type NodeUsage, usageCharts } from './charts';

const ASKED = { cpus: 4, memory_gb: 8 };

/** The measurements of a node with two GPUs. */
const MEASURED: NodeUsage = {
  node: null,
  step_s: 10,
  at: [1795337380, 1795337390, 1795337400],
  memory_mb: [512, 6144, 2048],
  cpus: [null, 1.5, 2.5],
  memory_limit_mb: 8192,
  gpus: [
    { name: 'V100', use_percent: [0, 90, 40], memory_mb: [0, 16384, 8192], memory_total_mb: 32768 },
    { name: 'V100', use_percent: [0, 10, 5], memory_mb: [0, 100, 100], memory_total_mb: 32768 },
  ],
};

const NOTHING: NodeUsage = {
  ...MEASURED,
  at: [],
  memory_mb: [],
  cpus: [],
  memory_limit_mb: null,
  gpus: null,
};

const texts = (nodes: NodeUsage[], isRunning = true, requested: NodeRequest = ASKED): string[] =>
  usageCharts(nodes, requested, isRunning).map(({ text }) => text);

const onNode = (node: string, more: Partial<NodeUsage> = {}): NodeUsage => ({
  ...MEASURED,
  node,
  ...more,
});

describe('charts of one node', () => {
  it('show the current usage and the maximum', () => {
    expect(texts([MEASURED])).toEqual([
      '2 GB of 8 GB used now; peak 6 GB.',
      '2.5 of 4 busy now; 2 on average.',
      '40 % on the busiest one now; peak 90 %.',
      '8 GB on the busiest one now; peak 16 GB.',
    ]);
  });

  it('show past usage in the past tense', () => {
    expect(texts([MEASURED], false)).toEqual([
      'Peak: 6 GB of 8 GB.',
      '2 of 4 busy on average.',
      'Peak: 90 %.',
      'Peak: 16 GB.',
    ]);
  });

  it('know the largest possible values', () => {
    const result = usageCharts([MEASURED], ASKED, true);
    expect(result.map(({ top }) => top)).toEqual([undefined, 4, 100, 32768]);
    expect(result[0]?.threshold).toEqual({ value: 8192, label: 'Limit: 8 GB' });
    expect(result.map(({ series }) => series.map(({ label }) => label))).toEqual([
      ['Memory'],
      ['CPUs'],
      ['GPU 1', 'GPU 2'],
      ['GPU 1', 'GPU 2'],
    ]);
  });

  it('have the requested memory as the limit if the node knows none', () => {
    const unlimited = { ...MEASURED, memory_limit_mb: null, gpus: null };
    expect(usageCharts([unlimited], ASKED, true)[0]?.threshold?.value).toBe(8 * 1024);
    const unasked = { ...ASKED, memory_gb: null };
    expect(usageCharts([unlimited], unasked, true)[0]?.threshold).toBeUndefined();
    expect(texts([unlimited], true, unasked)[0]).toBe('2 GB used now; peak 6 GB.');
  });

  it('have a gap where no point was measured', () => {
    const paused = { ...MEASURED, at: [1000, 1010, 1100], gpus: null };
    expect(usageCharts([paused], ASKED, true)[0]?.series[0]?.values).toEqual([
      512,
      6144,
      null,
      2048,
    ]);
  });

  it('are left out for unmeasured values', () => {
    expect(usageCharts([NOTHING], ASKED, true)).toEqual([]);
    const silent = {
      ...MEASURED,
      memory_mb: [null, null, null],
      cpus: [null, null, null],
      gpus: [{ name: 'X', use_percent: [null, null, null], memory_mb: [1, 2, 3] }],
    };
    const result = usageCharts([silent], ASKED, true);
    expect(result.map(({ title }) => title)).toEqual(['GPU memory']);
    expect(result[0]?.text).toBe('3 MB now; peak 3 MB.');
  });
});

describe('charts of several nodes', () => {
  it('have a line for each node', () => {
    const [memory, cpus] = usageCharts(
      [onNode('n1'), onNode('n2', { at: MEASURED.at.map((at) => at + 3) })],
      ASKED,
      true,
    );
    expect(memory?.series.map(({ label }) => label)).toEqual(['n1', 'n2']);
    expect(memory?.at).toHaveLength(6);
    expect(memory?.text).toBe('2 GB of 8 GB used on the fullest node now; peak 6 GB.');
    expect(cpus?.text).toBe('2.5 of 4 busy on each node now; 2 on average.');
  });

  it('name the node of each GPU, and separate the nodes if there are many GPUs', () => {
    const two = usageCharts([onNode('n1'), onNode('n2')], ASKED, true);
    expect(two[2]?.series.map(({ label }) => label)).toEqual([
      'n1 GPU 1',
      'n1 GPU 2',
      'n2 GPU 1',
      'n2 GPU 2',
    ]);
    const gpus = Array.from({ length: 8 }, () => MEASURED.gpus?.[0]).filter((gpu) => gpu != null);
    const many = usageCharts([onNode('n1', { gpus }), onNode('n2', { gpus })], ASKED, true);
    expect(many.slice(2).map(({ title }) => title)).toEqual([
      'GPU utilization on n1',
      'GPU memory on n1',
      'GPU utilization on n2',
      'GPU memory on n2',
    ]);
  });
});

describe('missing charts', () => {
  it('are explained by a note', () => {
    expect(missingChartTexts([MEASURED], 2)).toEqual([]);
    expect(missingChartTexts([{ ...MEASURED, gpus: null }], 2)).toEqual([
      "GPU usage unknown: nvidia-smi isn't available on this node.",
    ]);
    expect(missingChartTexts([{ ...MEASURED, gpus: null }], 0)).toEqual([]);
    expect(missingChartTexts([NOTHING], 2)).toEqual([]);
    const blind = { ...MEASURED, memory_mb: [null, null, null], cpus: [null, null, null] };
    expect(missingChartTexts([blind], 2)).toHaveLength(2);
  });
});
