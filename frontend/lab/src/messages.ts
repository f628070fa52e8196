/** The messages in JupyterLab's display language. */

import { english, type Messages } from './messages.en';
import { chinese } from './messages.zh';

export let messages: Messages = english;

/** Return whether one of JupyterLab's language codes, such as "zh-CN" or "zh_CN", is Chinese. */
export const isChinese = (languageCode: string | undefined): boolean =>
  /^zh\b|^zh_/i.test(languageCode ?? '');

/** Select the language. Call it before anything is shown. */
export function chooseLanguage(languageCode: string | undefined): void {
  messages = isChinese(languageCode) ? chinese : english;
}
