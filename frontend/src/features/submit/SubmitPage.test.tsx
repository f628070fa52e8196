import { describe, expect, it } from 'vitest';
import { template } from '@/testing/answers/template';
import { templates } from '@/testing/answers/templates';
import { isLoading, names, textOf, withRole } from '@/testing/markup';
import { page, Refused } from '@/testing/page';
import { answers, FULL } from '@/testing/recorded';

const FORM = `/jobs/new?template=${template.name}`;
const TEMPLATE = `/templates/${template.name}`;

describe('a new job', () => {
  it('begins with a template or a script of one’s own', async () => {
    const markup = await page('/jobs/new', FULL);
    expect(names(markup, 'a')).toEqual(
      expect.arrayContaining(templates.items.map(({ title }) => title)),
    );
    expect(names(markup, 'label')).toEqual(['A template', 'My own script']);
  });

  it('has a field for each parameter, with what it may be', async () => {
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

  it('begins with what its address fills in', async () => {
    const own = encodeURIComponent(JSON.stringify({ epochs: 7 }));
    const markup = await page(`${FORM}&parameters=${own}`, FULL);
    expect(markup).toMatch(/<input[^>]*value="7"/);
    expect(markup).not.toMatch(/<input[^>]*value="20"/);
  });

  it('waits for the cluster', async () => {
    expect(isLoading(await page(FORM, { live: null, early: true }))).toBe(true);
  });

  it('shows the error', async () => {
    const refused = { ...answers, [TEMPLATE]: new Refused(403, 'Not now.') };
    const markup = await page(FORM, { answers: refused });
    expect(withRole(markup, 'alert').join()).toContain('Not now.');
    expect(names(markup, 'button')).not.toContain('Submit job');
  });
});
