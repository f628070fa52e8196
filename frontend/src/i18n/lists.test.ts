import { afterEach, describe, expect, it, vi } from 'vitest';
import * as language from '.';
import { either, listed, sentences, together } from './lists';

afterEach(() => vi.restoreAllMocks());

function inChinese(): void {
  vi.spyOn(language, 'locale').mockReturnValue('zh-CN');
  vi.spyOn(language, 'currentLanguage').mockReturnValue('zh');
}

describe('lists', () => {
  it('are joined as in English', () => {
    expect(together(['a', 'b', 'c'])).toBe('a, b, and c');
    expect(either(['a', 'b'])).toBe('a or b');
    expect(listed(['a', 'b'])).toBe('a, b');
    expect(sentences(['A.', 'B.'])).toBe('A. B.');
    expect([together([]), together(['a'])]).toEqual(['', 'a']);
  });

  it('are joined as in Chinese, with spaces between its letters and Latin ones', () => {
    inChinese();
    expect(together(['a', 'b', 'c'])).toBe('a、b 和 c');
    expect(together(['节点', '分区'])).toBe('节点和分区');
    expect(either(['GPU', '内存'])).toBe('GPU 或内存');
    expect(listed(['a', 'b'])).toBe('a、b');
    expect(sentences(['甲。', '乙。'])).toBe('甲。乙。');
    expect(sentences(['A.', 'B.', '甲。', 'C.'])).toBe('A. B. 甲。C.');
  });
});
