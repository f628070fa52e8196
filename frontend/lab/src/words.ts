/** The words in the language that JupyterLab speaks. */

import { english, type Words } from './words.en';
import { chinese } from './words.zh';

export let words: Words = english;

/** Of JupyterLab's codes, "zh-CN" or "zh_CN" for instance. */
export const isChinese = (languageCode: string | undefined): boolean =>
  /^zh\b|^zh_/i.test(languageCode ?? '');

/** Called before anything is shown. */
export function speak(languageCode: string | undefined): void {
  words = isChinese(languageCode) ? chinese : english;
}
