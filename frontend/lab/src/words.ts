/** The words in the language that JupyterLab speaks. */

import { english, type Words } from './words.en';
import { chinese } from './words.zh';

export let words: Words = english;

/** `languageCode` is JupyterLab's, "zh-CN" or "zh_CN" for instance; called before anything is shown. */
export function speak(languageCode: string | undefined): void {
  words = /^zh\b|^zh_/i.test(languageCode ?? '') ? chinese : english;
}
