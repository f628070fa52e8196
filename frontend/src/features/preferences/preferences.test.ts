import { describe, expect, it } from 'vitest';
import { withPatch } from './preferences';

const kept = {
  favourite_environments: ['base', 'vision'],
  language: null as string | null,
  notify: { browser: { job_ended: true, time_short: true }, email: { job_ended: false } },
};

describe('a patch', () => {
  it('changes only the given fields', () => {
    const next = withPatch(kept, { notify: { browser: { job_ended: false } } });
    expect(next).toEqual({
      ...kept,
      notify: { ...kept.notify, browser: { job_ended: false, time_short: true } },
    });
    expect(kept.notify.browser.job_ended).toBe(true);
  });

  it('replaces a list as a whole', () => {
    const next = withPatch(kept, { favourite_environments: ['vision'] });
    expect(next).toEqual({ ...kept, favourite_environments: ['vision'] });
  });

  it('may remove a value', () => {
    expect(
      withPatch({ ...kept, language: 'en' as string | null }, { language: null }).language,
    ).toBeNull();
  });
});
