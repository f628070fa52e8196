import { describe, expect, it } from 'vitest';
import { cluster } from '@/testing/answers/cluster';
import { template } from '@/testing/answers/template';
import { templates } from '@/testing/answers/templates';
import { isLoading, names, textOf, withRole } from '@/testing/markup';
import { ErrorAnswer, page } from '@/testing/page';
import { answers, FULL } from '@/testing/recorded';

const FORM = `/jobs/new?template=${template.name}`;
const TEMPLATE = `/templates/${template.name}`;

describe('a new job', () => {
  it('offers templates and a custom script', async () => {
    const markup = await page('/jobs/new', FULL);
    expect(names(markup, 'a')).toEqual(
      expect.arrayContaining(templates.items.map(({ title }) => title)),
    );
    expect(names(markup, 'label').slice(0, 2)).toEqual(['Template', 'Custom script']);
    expect(names(markup, 'h2').slice(0, 2)).toEqual(['Recently used', 'Train']);
    expect(names(markup, 'button')).toContain('Choose a file…');
  });

  it('has a field with its range for each parameter', async () => {
    const markup = await page(FORM, FULL);
    expect(names(markup, 'h1')).toEqual([template.title]);
    expect(names(markup, 'label')).toEqual(
      expect.arrayContaining([
        'Epochs',
        'Learning rate',
        'Batch size (examples)',
        'Your own script, optional',
        'Its arguments',
        'Partition',
      ]),
    );
    const text = textOf(markup);
    expect(text).toContain('1 to 100000.');
    expect(text).toContain('More than 0, at most 10.');
    expect(names(markup, 'button')).toContain('Submit job');
    expect(markup).toMatch(/<input[^>]*value="20"/);
  });

  it('begins with the values of its address', async () => {
    const own = encodeURIComponent(JSON.stringify({ epochs: 7 }));
    const markup = await page(`${FORM}&parameters=${own}`, FULL);
    expect(markup).toMatch(/<input[^>]*value="7"/);
    expect(markup).not.toMatch(/<input[^>]*value="20"/);
  });

  it('shows errors at fields that were filled in', async () => {
    const errors = ['epochs', 'batch_size'].map((name) => ({
      field: `parameters.${name}`,
      message: `${name} is wrong.`,
    }));
    const failing = new ErrorAnswer(422, 'Some fields are wrong.', errors);
    const own = encodeURIComponent(JSON.stringify({ epochs: 7 }));
    const markup = await page(`${FORM}&parameters=${own}`, {
      ...FULL,
      answers: { ...answers, [`${TEMPLATE}/render`]: failing },
    });
    expect(textOf(markup)).toContain('epochs is wrong.');
    expect(textOf(markup)).not.toContain('batch_size is wrong.');
  });

  it('shows the expected wait for each GPU type and partition', async () => {
    const a100 = { type: 'a100', total: 2, free: 0 };
    const two = {
      ...cluster,
      partitions: cluster.partitions.map((each) =>
        each.name === 'gpu'
          ? {
              ...each,
              gpus: [...each.gpus, a100],
              largest: [...each.largest, { gpus: { a100: 2 }, cpus: 32, memory_gb: 128 }],
            }
          : each,
      ),
    };
    const resources = { ...template.default_resources, partition: 'gpu', gpus: 1 };
    const asked: object[] = [];
    const markup = await page(FORM, {
      snapshot: { cluster: two },
      answers: {
        ...answers,
        '/resources': ({ requests }: { requests: object[] }) => ({
          items: requests.map(() => ({ ...resources, errors: [] })),
          errors: [],
        }),
        '/estimates/choices': (body: object) => {
          asked.push(body);
          return { items: [{ start_at: null, seconds: 1500 }] };
        },
      },
    });
    expect(textOf(markup)).toContain(
      'Any type · Expected wait: none v100 · Expected wait: none a100 · Expected wait: 25 min',
    );
    expect(textOf(markup)).toContain('gpu · Expected wait: none debug · Expected wait: none');
    expect(asked).toEqual([
      expect.objectContaining({
        template: template.name,
        choices: [expect.objectContaining({ gpu_type: 'a100', gpus: 1 })],
      }),
    ]);
  });

  it('shows the number of tasks', async () => {
    const rendered = { script: '#!/bin/bash', array: 6, parameters: {}, resources: {} };
    const markup = await page(FORM, {
      ...FULL,
      answers: { ...answers, [`${TEMPLATE}/render`]: rendered },
    });
    expect(names(markup, 'button')).toContain('Submit 6 tasks');
  });

  it('waits for the cluster', async () => {
    expect(isLoading(await page(FORM, { snapshot: null, early: true }))).toBe(true);
  });

  it('shows the error', async () => {
    const failing = { ...answers, [TEMPLATE]: new ErrorAnswer(403, 'Not now.') };
    const markup = await page(FORM, { answers: failing });
    expect(withRole(markup, 'alert').join()).toContain('Not now.');
    expect(names(markup, 'button')).not.toContain('Submit job');
  });
});
