import { afterEach, describe, expect, it } from 'vitest';
import { setCatalog, translate } from '@/i18n/translate';
import { chooseLanguage, messages } from './messages';
import { loadServerMessages } from './serverMessages';
import { FakePage, MIN, START, session } from './testing';
import { duration, timeLeft } from './time';

describe('the language', () => {
  afterEach(() => chooseLanguage('en'));

  it.each([
    ['zh-CN', '会话'],
    ['zh_CN', '会话'],
    ['zh-Hans', '会话'],
    ['en', 'Session'],
    ['de_DE', 'Session'],
    ['zha', 'Session'],
    [undefined, 'Session'],
  ])('%s is spoken', (code, menu) => {
    chooseLanguage(code);
    expect(messages.menu).toBe(menu);
  });

  it('has times and numbers in Chinese', async () => {
    chooseLanguage('zh_CN');
    expect(messages.extend(60)).toBe('延长 1 小时');
    expect(timeLeft(session(130).session.expires_at, START)?.text).toBe('2 小时 10 分');
    const page = new FakePage();
    page.watch.applyFacts(session(10));
    expect(page.notifications).toEqual([
      '此会话将在 10 分钟后结束。请保存您的工作：内核和终端会随之结束。',
    ]);
    expect(messages.idle(duration(90 * MIN), 2, 8)).toBe(
      '这里已有 1 小时 30 分没有运行任何内容。此会话仍占用 2 个 GPU 和 8 个 CPU，其他人无法使用。',
    );
  });

  it("includes the portal's messages once its catalog is loaded", async () => {
    const errorMessage = 'This session is ending.';
    const catalogue = { [errorMessage]: '该会话即将结束。' };
    let requests = 0;
    const get = async () => {
      requests += 1;
      return Response.json(catalogue);
    };
    await loadServerMessages('en', get);
    expect([requests, translate(errorMessage)]).toEqual([0, errorMessage]);
    await expect(
      loadServerMessages('zh-CN', async () => new Response('', { status: 404 })),
    ).rejects.toThrow('404');
    await loadServerMessages('zh-CN', get);
    expect(translate(errorMessage)).toBe(catalogue[errorMessage]);
    setCatalog(null);
  });

  it('translates every message', () => {
    const texts = (table: object): [string, string][] =>
      Object.entries(table).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value]] : [],
      );
    chooseLanguage('zh');
    const english = /^[\x20-\x7e]+$/;
    const untranslated = texts(messages).filter(([, text]) => english.test(text));
    expect(untranslated).toEqual([['locale', 'zh-CN']]);
  });
});
