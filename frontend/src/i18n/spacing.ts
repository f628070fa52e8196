/** The spacing between two texts in Chinese: a space between Chinese and Latin characters, and none
 * after Chinese punctuation. */

const IDEOGRAPH = /[\u3400-\u9fff]/;
const LATIN = /[\w()]/;
const CHINESE_END = /[。！？：；，、”）]$/;

/** Return the spacing between two characters: a space between Chinese and Latin, none between two
 * Chinese ones, else `written`. */
export function space(before: string, after: string, written = ''): string {
  const ideographs = [before, after].filter((char) => IDEOGRAPH.test(char)).length;
  if (ideographs === 2) return '';
  return ideographs === 1 && (LATIN.test(before) || LATIN.test(after)) ? ' ' : written;
}

/** Join sentences, some of which may be English. */
export const chineseSentences = (each: readonly string[]): string =>
  each.reduce((all, next) => (all === '' || CHINESE_END.test(all) ? all : `${all} `) + next, '');
