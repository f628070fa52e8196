import { afterEach, describe, expect, it, vi } from 'vitest';
import * as language from '.';
import { joinSentences, joinWithAnd, joinWithCommas, joinWithOr } from './lists';

afterEach(() => vi.restoreAllMocks());

function inChinese(): void {
  vi.spyOn(language, 'locale').mockReturnValue('zh-CN');
  vi.spyOn(language, 'currentLanguage').mockReturnValue('zh');
}

describe('lists', () => {
  it('are joined as in English', () => {
    expect(joinWithAnd(['a', 'b', 'c'])).toBe('a, b, and c');
    expect(joinWithOr(['a', 'b'])).toBe('a or b');
    expect(joinWithCommas(['a', 'b'])).toBe('a, b');
    expect(joinSentences(['A.', 'B.'])).toBe('A. B.');
    expect([joinWithAnd([]), joinWithAnd(['a'])]).toEqual(['', 'a']);
  });

  it('are joined as in Chinese, with spaces between its letters and Latin ones', () => {
    inChinese();
    expect(joinWithAnd(['a', 'b', 'c'])).toBe('a、b 和 c');
    expect(joinWithAnd(['节点', '分区'])).toBe('节点和分区');
    expect(joinWithOr(['GPU', '内存'])).toBe('GPU 或内存');
    expect(joinWithCommas(['a', 'b'])).toBe('a、b');
    expect(joinSentences(['甲。', '乙。'])).toBe('甲。乙。');
    expect(joinSentences(['A.', 'B.', '甲。', 'C.'])).toBe('A. B. 甲。C.');
  });
});
