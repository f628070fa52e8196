/** The words in the language that JupyterLab speaks. */

import { english, type Messages } from './messages.en';
import { chinese } from './messages.zh';

export let messages: Messages = english;

/** Of JupyterLab's codes, "zh-CN" or "zh_CN" for instance. */
export const isChinese = (languageCode: string | undefined): boolean =>
  /^zh\b|^zh_/i.test(languageCode ?? '');

/** Called before anything is shown. */
export function chooseLanguage(languageCode: string | undefined): void {
  messages = isChinese(languageCode) ? chinese : english;
}
