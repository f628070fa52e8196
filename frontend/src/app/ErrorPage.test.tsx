import { describe, expect, it } from 'vitest';
import { names, textOf } from '@/testing/markup';
import { ErrorAnswer, page } from '@/testing/page';

describe('the error page', () => {
  it('has its own main landmark', async () => {
    const answers = { '/me': new ErrorAnswer(503, 'The database does not answer.') };
    const markup = await page('/jobs', { answers });
    expect(names(markup, 'h1')).toEqual(["This page can't be shown"]);
    expect(textOf(markup)).toContain('The database does not answer.');
    expect(markup.match(/<main\b/g)).toHaveLength(1);
  });
});
