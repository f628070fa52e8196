import { describe, expect, it } from 'vitest';
import { names } from '@/testing/markup';
import { ErrorAnswer, page } from '@/testing/page';

const NOTHING = ['There is nothing at this address'];
const mains = (markup: string): number => markup.match(/<main\b/g)?.length ?? 0;

describe('the page for unknown addresses', () => {
  it('has its own main landmark outside of the frame', async () => {
    const markup = await page('/nowhere/at/all');
    expect(names(markup, 'h1')).toEqual(NOTHING);
    expect(mains(markup)).toBe(1);
  });

  it('has no main landmark inside the frame', async () => {
    const answers = { '/jobs/job-gone': new ErrorAnswer(404, 'No such job.') };
    const markup = await page('/jobs/job-gone', { answers });
    expect(names(markup, 'h1')).toEqual(NOTHING);
    expect(mains(markup)).toBe(0);
  });
});
