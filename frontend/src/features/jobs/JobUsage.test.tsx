import { describe, expect, it } from 'vitest';
import { arrayJob } from '@/testing/answers/arrayJob';
import { failedJob } from '@/testing/answers/failedJob';
import { textOf } from '@/testing/markup';
import { page } from '@/testing/page';
import { answers } from '@/testing/recorded';
import type { JobUsageOverTime } from './overTime';

const URL = `/jobs/${failedJob.id}`;
const start = Date.parse(failedJob.started_at) / 1000;

const onNode = (node: string): JobUsageOverTime['nodes'][number] => ({
  node,
  step_s: 10,
  at: [start, start + 2],
  memory_mb: [100, 512],
  cpus: [null, 1],
  memory_limit_mb: 1024,
  gpus: null,
  memory_killed_at: null,
});

const shown = async (nodes: JobUsageOverTime['nodes'], job: object = failedJob): Promise<string> =>
  page(URL, {
    answers: {
      ...answers,
      [URL]: job,
      [`${URL}/usage`]: { nodes, nodes_left_out: 0, measured: true },
    },
  });

/** Charts are loaded later, so they are tested in a browser (tests/browser/test_jobs.py). */
describe("usage over time on a job's page", () => {
  it('says that a job from outside the portal was not measured', async () => {
    const text = textOf(await shown([], { ...failedJob, external: true }));
    expect(text).toContain('was not measured, because it was submitted outside the portal');
  });

  it('says that a job was too short', async () => {
    expect(textOf(await shown([{ ...onNode('n1'), at: [start] }]))).toContain('too short');
  });

  it('is that of the first task that started, with a choice of the others', async () => {
    const url = `/jobs/${arrayJob.id}`;
    const [first, ...others] = arrayJob.array.tasks;
    const waiting = { ...first, state: 'queued', node: null };
    const job = { ...arrayJob, array: { ...arrayJob.array, tasks: [waiting, ...others] } };
    const usage = { nodes: [], nodes_left_out: 0, measured: true };
    const markup = await page(url, {
      answers: { ...answers, [url]: job, [`${url}/usage`]: usage },
    });
    const [, select = ''] = markup.split('Usage over time of task');
    const options = [...select.matchAll(/<option[^>]*>(\d+)</g)].map(([, index]) => Number(index));
    expect(options).toEqual(others.map(({ index }) => index));
  });
});
