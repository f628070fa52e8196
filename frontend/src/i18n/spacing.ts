/** What stands between two texts in Chinese: a space between its own signs and Latin ones, and none
 * behind its own full stops. */

const IDEOGRAPH = /[\u3400-\u9fff]/;
const LATIN = /[\w()]/;
const CHINESE_END = /[。！？：；，、”）]$/;

/** What stands between two signs: between a Chinese and a Latin one a space, between two Chinese ones
 * none, else what is `written`. */
export function space(before: string, after: string, written = ''): string {
  const ideographs = [before, after].filter((sign) => IDEOGRAPH.test(sign)).length;
  if (ideographs === 2) return '';
  return ideographs === 1 && (LATIN.test(before) || LATIN.test(after)) ? ' ' : written;
}

/** Sentences one after the other, some of which may be English. */
export const chineseSentences = (each: readonly string[]): string =>
  each.reduce((all, next) => (all === '' || CHINESE_END.test(all) ? all : `${all} `) + next, '');
