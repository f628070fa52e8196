import { describe, expect, it } from 'vitest';
import { storage } from '@/testing/storage';
import {
  draftOfEntry,
  dropDraft,
  dropDrafts,
  isLike,
  isNumber,
  isRecordOf,
  isText,
  isTexts,
  orNull,
  readDraft,
  writeDraft,
} from './drafts';

describe('a draft', () => {
  it('is found by its user and form only', () => {
    const tab = storage();
    writeDraft(tab, 'alice', 'start', { name: 'é<b>\n数据', own: null });
    expect(readDraft(tab, 'alice', 'start')).toEqual({ name: 'é<b>\n数据', own: null });
    expect(readDraft(tab, 'alice', 'script')).toEqual({});
    expect(readDraft(tab, 'bob', 'start')).toEqual({});
  });

  it('is gone once it is dropped', () => {
    const tab = storage();
    writeDraft(tab, 'alice', 'start', { name: 'a' });
    dropDraft(tab, 'alice', 'start');
    expect(tab.length).toBe(0);
  });

  it.each(['', 'nonsense', '[]', '7', 'null', '{}', '{"at":1,"fields":[]}'])(
    'is none if it is %j',
    (text) => {
      const tab = storage();
      writeDraft(tab, 'alice', 'start', {});
      for (const key of tab.kept.keys()) tab.kept.set(key, text);
      expect(readDraft(tab, 'alice', 'start')).toEqual({});
    },
  );

  it('is not kept where there is no storage, or no room in it', () => {
    expect(readDraft(null, 'alice', 'start')).toEqual({});
    expect(writeDraft(null, 'alice', 'start', { name: 'a' })).toBe(false);
    const tab = storage(60);
    const write = (script: string): boolean => writeDraft(tab, 'alice', 'script', { script });
    expect(write('')).toBe(true);
    expect(write('x'.repeat(100))).toBe(false);
    expect(readDraft(tab, 'alice', 'script')).toEqual({});
  });
});

describe('drafts', () => {
  it('are removed with their user; others stay', () => {
    const tab = storage();
    tab.setItem('other', 'kept');
    for (const who of ['al', 'alice']) writeDraft(tab, who, 'start', { name: who });
    dropDrafts(tab, 'al');
    expect(readDraft(tab, 'alice', 'start')).toEqual({});
    expect(readDraft(tab, 'al', 'start')).toEqual({ name: 'al' });
    dropDrafts(tab);
    expect([...tab.kept.keys()]).toEqual(['other']);
  });

  it("never fill the tab's storage", () => {
    const tab = storage();
    for (let n = 0; n < 100; n++) writeDraft(tab, 'alice', `start ${n}`, { n });
    expect(tab.length).toBeLessThan(30);
    expect(readDraft(tab, 'alice', 'start 99')).toEqual({ n: 99 });
  });

  it('make room for the next: drafts from links first, then the oldest', () => {
    const tab = storage();
    let time = 0;
    const write = (form: string): boolean =>
      writeDraft(tab, 'alice', form, { form }, () => {
        time += 1;
        return time;
      });
    const isThere = (form: string): boolean => 'form' in readDraft(tab, 'alice', form);
    write('script');
    const links = Array.from({ length: 30 }, (_, n) => draftOfEntry('start', `k${n}`));
    for (const link of links) write(link);
    expect(isThere('script')).toBe(true);
    const left = links.filter(isThere);
    expect(left).toEqual(links.slice(-left.length));
    expect(left.length).toBeGreaterThan(15);

    const all = tab.length;
    const forms = Array.from({ length: left.length }, (_, n) => `form ${n}`);
    for (const form of forms) write(form);
    expect(left.filter(isThere)).toEqual([]);
    expect(['script', ...forms].filter((form) => !isThere(form))).toEqual([]);

    write('script'); // is not the oldest any more
    write('one more');
    expect(tab.length).toBe(all);
    expect([...forms, 'script', 'one more'].filter((form) => !isThere(form))).toEqual(['form 0']);
  });
});

describe('the fields of a draft', () => {
  it('are validated', () => {
    const isPlace = isLike({ name: isText, size: orNull(isNumber) });
    expect(isPlace({ name: 'a', size: null })).toBe(true);
    for (const wrong of [null, 7, [], {}, { name: 'a' }, { name: 'a', size: '1' }])
      expect(isPlace(wrong)).toBe(false);
    expect(isTexts(['a'])).toBe(true);
    expect(isTexts(['a', 1])).toBe(false);
    expect(isRecordOf(isText)({ a: 'b' })).toBe(true);
    expect(isRecordOf(isText)({ a: 1 })).toBe(false);
    expect(isRecordOf(isText)(['a'])).toBe(false);
  });
});
