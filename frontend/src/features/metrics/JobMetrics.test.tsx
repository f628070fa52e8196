import type { ComponentProps } from 'react';
import { describe, expect, it, vi } from 'vitest';
import { arrayJob } from '@/testing/answers/arrayJob';
import { jobs } from '@/testing/answers/jobs';
import { textOf } from '@/testing/markup';
import { page } from '@/testing/page';
import { answers } from '@/testing/recorded';
import type { CurveChart } from '@/ui/plot/CurveChart';
import type { Curve, JobCurves } from './queries';

const ARRAY = `/jobs/${arrayJob.id}`;

const curve = (tag: string, values: (number | null)[]): Curve => ({
  run: '',
  tag,
  count: values.length,
  not_finite: values.filter((value) => value === null).length,
  steps: values.map((_, index) => index),
  at: values.map((_, index) => 1000 + index),
  values,
});

const read = (curves: Curve[], more: Partial<JobCurves> = {}): JobCurves => ({
  id: arrayJob.id,
  curves,
  curves_left_out: 0,
  complete: true,
  problem: null,
  refresh_s: 15,
  ...more,
});

const shown = (curves: JobCurves): Promise<string> =>
  page(ARRAY, { answers: { ...answers, [ARRAY]: arrayJob, [`${ARRAY}/curves`]: curves } });

/** Canvases are loaded later, so they are tested in a browser (tests/browser/test_job_lists.py). */
vi.mock('@/ui/plot/CurveChart', async () => {
  const { ChartTable } = await import('@/ui/plot/ChartTable');
  return {
    CurveChart: ({ title, text, axis, ...table }: ComponentProps<typeof CurveChart>) => (
      <figure>
        {title}: {text}
        <ChartTable heading={axis.label} atText={axis.text} {...table} />
      </figure>
    ),
  };
});

describe("metrics on a job's page", () => {
  it('are charts with the numbers as tables', async () => {
    const markup = await shown(read([curve('loss', [0.5, null, 0.25]), curve('accuracy', [1])]));
    const text = textOf(markup);
    expect(text).toContain('Last value: 0.25; smallest 0.25, largest 0.5.');
    expect(text).toContain('1 value is not finite');
    expect(text).toContain('Step Value 0 0.5 1 – 2 0.25');
    expect(markup).toContain('aria-label="Horizontal axis"');
  });

  it('say how to log some', async () => {
    const text = textOf(await shown(read([])));
    expect(text).toContain('No metrics were logged.');
    expect(text).toContain('PORTAL_LOGDIR');
  });

  it('say what is left out', async () => {
    const more = { curves_left_out: 2, complete: false };
    const text = textOf(await shown(read([curve('loss', [1, 2])], more)));
    expect(text).toContain('2 more curves are only in TensorBoard.');
    expect(text).toContain('too large to be read whole');
  });

  it('show hostile tags as text', async () => {
    const markup = await shown(read([curve(`\u202e<b>${'長'.repeat(290)}`, [1, 2])]));
    expect(markup).not.toContain('\u202e');
    expect(markup).toContain('\\u202e&lt;b&gt;長');
  });

  it('can be searched if there are many', async () => {
    const curves = Array.from({ length: 32 }, (_, index) => curve(`tag ${index}`, [1, 2]));
    const markup = await shown(read(curves));
    expect(markup).toContain('aria-label="Find a metric"');
    expect(textOf(markup)).toContain('Show 24 more metrics');
  });

  it('of an array are shown against its parameters', async () => {
    const markup = await shown(read([]));
    const text = textOf(markup);
    expect(text).toContain('Parameters and metrics of the tasks');
    expect(text).toContain('Highlight a run, ordered by loss');
    expect(markup).toMatch(/<input type="range"[^>]*aria-valuetext="Task 2: /);
  });
});

describe('metrics in a comparison', () => {
  it('have a line for each run', async () => {
    const chosen = jobs.items.slice(0, 2).map((job, index) => ({
      job: { ...job, parameters: { rate: index }, name: `run ${index}` },
      metrics: { loss: index },
      metrics_problem: null,
    }));
    const ids = chosen.map(({ job }) => job.id);
    const items = ids.map((id, index) =>
      read([curve('loss', [index, index + 1])], { id, problem: index > 0 ? 'It is away.' : null }),
    );
    const text = textOf(
      await page(`/jobs/compare?ids=${ids.join()}`, {
        answers: {
          ...answers,
          '/jobs/compare': { items: chosen, missing: [] },
          '/jobs/compare/curves': { items },
        },
      }),
    );
    expect(text).toContain('Step run 0 run 1 0 0 1 1 1 2');
    expect(text).toContain('Parameters and metrics of the runs');
    expect(text).toContain('It is away.');
  });
});
