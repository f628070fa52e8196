import { describe, expect, it } from 'vitest';
import {
  dropDraft,
  dropDrafts,
  isLike,
  isNumber,
  isRecordOf,
  isText,
  isTexts,
  type Keeper,
  orNull,
  readDraft,
  writeDraft,
} from './drafts';

/** A tab's storage that holds so many characters. */
function storage(room = Number.POSITIVE_INFINITY): Keeper & { kept: Map<string, string> } {
  const kept = new Map<string, string>();
  return {
    kept,
    get length() {
      return kept.size;
    },
    key: (place) => [...kept.keys()][place] ?? null,
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => {
      if (value.length > room) throw new DOMException('full', 'QuotaExceededError');
      kept.set(key, value);
    },
    removeItem: (key) => void kept.delete(key),
  };
}

describe('a draft', () => {
  it('is found again by its person and its form alone', () => {
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

  it.each(['', 'nonsense', '[]', '7', 'null'])('is none if it is %j', (text) => {
    const tab = storage();
    writeDraft(tab, 'alice', 'start', {});
    for (const key of tab.kept.keys()) tab.kept.set(key, text);
    expect(readDraft(tab, 'alice', 'start')).toEqual({});
  });

  it('is not kept where there is no storage, or no room in it', () => {
    expect(readDraft(null, 'alice', 'start')).toEqual({});
    expect(() => writeDraft(null, 'alice', 'start', { name: 'a' })).not.toThrow();
    const tab = storage(30);
    writeDraft(tab, 'alice', 'script', { script: 'short' });
    writeDraft(tab, 'alice', 'script', { script: 'x'.repeat(100) });
    expect(readDraft(tab, 'alice', 'script')).toEqual({});
  });
});

describe('drafts', () => {
  it('go with their person, and leave what isn’t theirs', () => {
    const tab = storage();
    tab.setItem('other', 'kept');
    for (const who of ['al', 'alice']) writeDraft(tab, who, 'start', { name: who });
    dropDrafts(tab, 'al');
    expect(readDraft(tab, 'alice', 'start')).toEqual({});
    expect(readDraft(tab, 'al', 'start')).toEqual({ name: 'al' });
    dropDrafts(tab);
    expect([...tab.kept.keys()]).toEqual(['other']);
  });

  it('never fill the tab up', () => {
    const tab = storage();
    for (let n = 0; n < 100; n++) writeDraft(tab, 'alice', `start ${n}`, { n });
    expect(tab.length).toBeLessThan(30);
    expect(readDraft(tab, 'alice', 'start 99')).toEqual({ n: 99 });
  });
});

describe('what a part may be', () => {
  it('is looked at before it is believed', () => {
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
