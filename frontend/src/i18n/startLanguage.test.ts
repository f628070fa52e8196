import { i18n } from '@lingui/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { storage } from '@/testing/storage';

const reported = vi.fn();
const html = { lang: 'en' };

/** Load the module afresh in a browser set to Chinese; `zh` returns the pages' catalog. */
async function page(zh: () => object, answer: () => Promise<Response>) {
  vi.resetModules();
  vi.doMock('./zh', zh);
  vi.stubGlobal('fetch', vi.fn(answer));
  const [language, sentences] = [await import('.'), await import('./translate')];
  await language.startLanguage();
  return { ...language, ...sentences };
}

const words = () => ({ messages: { greeting: ['你好'] } });
const portalSays = async () => Response.json({ 'No such job.': '没有这个作业。' });
const stalled = () => Promise.reject(new DOMException('too late', 'TimeoutError'));
const refused = async () => new Response('', { status: 502 });

const lost = () => {
  throw new TypeError('Failed to fetch dynamically imported module');
};

const reload = vi.fn();
let kept: Map<string, string>;

beforeEach(() => {
  const localStorage = storage();
  kept = localStorage.kept;
  reload.mockReset();
  vi.stubGlobal('window', { localStorage, location: { reload } });
  vi.stubGlobal('navigator', { languages: ['zh-CN', 'en-GB'] });
  vi.stubGlobal('document', { documentElement: html });
  vi.stubGlobal('reportError', reported.mockReset());
});

afterEach(() => {
  vi.doUnmock('./zh');
  vi.unstubAllGlobals();
});

describe('a page in Chinese', () => {
  it("has the pages' and the portal's translations", async () => {
    const { currentLanguage, locale, translate } = await page(words, portalSays);
    expect([currentLanguage(), locale(), html.lang]).toEqual(['zh', 'zh-CN', 'zh-CN']);
    expect(translate('No such job.')).toBe('没有这个作业。');
    expect(reported).not.toHaveBeenCalled();
  });

  it.each([
    ['do not come', stalled],
    ['are refused', refused],
  ])("does without the portal's if they %s", async (_, answer) => {
    const { currentLanguage, translate } = await page(words, answer);
    expect(currentLanguage()).toBe('zh');
    expect(translate('No such job.')).toBe('No such job.');
    expect(reported).toHaveBeenCalledOnce();
    expect(vi.mocked(fetch).mock.calls[0]?.[1]?.signal).toBeInstanceOf(AbortSignal);
  });

  it('is entirely in English if its catalog cannot be loaded', async () => {
    const { currentLanguage, locale, translate } = await page(lost, portalSays);
    expect([currentLanguage(), locale(), html.lang]).toEqual(['en', 'en-GB', 'en-GB']);
    expect(i18n._('Stop')).toBe('Stop');
    expect(translate('No such job.')).toBe('No such job.');
    expect(reported).toHaveBeenCalledOnce();
  });
});

describe('another language', () => {
  it('is used after a reload of the page', async () => {
    const { changeLanguage: speakNext, followStoredLanguage: follow } = await page(
      words,
      portalSays,
    );
    speakNext('en');
    expect(reload).toHaveBeenCalledTimes(1);
    follow('en');
    expect(reload).toHaveBeenCalledTimes(2);
    expect([...kept.values()]).toEqual(['en']);
    follow(null); // the browser's language applies
    expect(kept.size).toBe(0);
    expect(reload).toHaveBeenCalledTimes(2);
  });

  it("is not refetched automatically after a failure, but on the reader's choice", async () => {
    const { followStoredLanguage: follow, changeLanguage: speakNext } = await page(
      lost,
      portalSays,
    );
    follow('zh');
    follow(null);
    expect(reload).not.toHaveBeenCalled();
    speakNext('zh');
    expect(reload).toHaveBeenCalledOnce();
  });

  it('is not applied without storage', async () => {
    vi.stubGlobal('window', {
      get localStorage() {
        throw new DOMException('switched off', 'SecurityError');
      },
      location: { reload },
    });
    const {
      changeLanguage: speakNext,
      followStoredLanguage: follow,
      currentLanguage,
    } = await page(words, portalSays);
    expect(currentLanguage()).toBe('zh');
    speakNext('en');
    follow('en');
    expect(reload).not.toHaveBeenCalled();
  });
});
