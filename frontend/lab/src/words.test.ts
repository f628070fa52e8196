import { afterEach, describe, expect, it } from 'vitest';
import { said, setSaid } from '@/i18n/said';
import { learnPortalWords } from './portalWords';
import { MIN, START, session, World } from './testing';
import { duration, timeLeft } from './time';
import { speak, words } from './words';

describe('the language', () => {
  afterEach(() => speak('en'));

  it.each([
    ['zh-CN', '会话'],
    ['zh_CN', '会话'],
    ['zh-Hans', '会话'],
    ['en', 'Session'],
    ['de_DE', 'Session'],
    ['zha', 'Session'],
    [undefined, 'Session'],
  ])('%s is spoken', (code, menu) => {
    speak(code);
    expect(words.menu).toBe(menu);
  });

  it('has times and numbers in Chinese', async () => {
    speak('zh_CN');
    expect(words.extend(60)).toBe('延长 1 小时');
    expect(timeLeft(session(130).session.expires_at, START)?.text).toBe('2 小时 10 分');
    const world = new World();
    world.watch.take(session(10));
    expect(world.said).toEqual([
      '此会话将在 10 分钟后结束。请保存您的工作：内核和终端会随之结束。',
    ]);
    expect(words.idle(duration(90 * MIN), 2, 8)).toBe(
      '这里已有 1 小时 30 分没有运行任何内容。此会话仍占用 2 个 GPU 和 8 个 CPU，其他人无法使用。',
    );
  });

  it('has what the portal says, too, once its catalogue is here', async () => {
    const refusal = 'This session is ending.';
    const catalogue = { [refusal]: '该会话即将结束。' };
    let asked = 0;
    const get = async () => {
      asked += 1;
      return Response.json(catalogue);
    };
    await learnPortalWords('en', get);
    expect([asked, said(refusal)]).toEqual([0, refusal]);
    await expect(
      learnPortalWords('zh-CN', async () => new Response('', { status: 404 })),
    ).rejects.toThrow('404');
    await learnPortalWords('zh-CN', get);
    expect(said(refusal)).toBe(catalogue[refusal]);
    setSaid(null);
  });

  it('leaves no word out, and none in English', () => {
    const texts = (table: object): [string, string][] =>
      Object.entries(table).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value]] : [],
      );
    speak('zh');
    const english = /^[\x20-\x7e]+$/;
    const untranslated = texts(words).filter(([, text]) => english.test(text));
    expect(untranslated).toEqual([['locale', 'zh-CN']]);
  });
});
