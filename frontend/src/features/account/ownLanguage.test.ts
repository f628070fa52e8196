import { describe, expect, it } from 'vitest';
import { languageToTake } from './ownLanguage';

describe('the language that somebody keeps', () => {
  it('is taken where the page speaks another one', () => {
    expect(languageToTake('zh', 'en')).toBe('zh');
    expect(languageToTake('en', 'zh')).toBe('en');
  });

  it('changes nothing where the page speaks it already', () => {
    expect(languageToTake('zh', 'zh')).toBeNull();
  });

  it('leaves it to the browser if there is none, or one that the pages do not know', () => {
    expect(languageToTake(null, 'zh')).toBeNull();
    expect(languageToTake('fr', 'en')).toBeNull();
  });
});
