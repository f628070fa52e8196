/**
 * The Chinese translations of the server's messages: a separate catalog, fetched only by readers of
 * Chinese.
 */
import { setCatalog } from '@/i18n/translate';
import catalogue from '../../../portal/i18n/zh.json?url';
import { isChinese } from './messages';

/** Until it is here, and if it can't be had, they are heard in English; the browser's console says why. */
export async function loadServerMessages(
  languageCode: string | undefined,
  get: (url: string) => Promise<Response> = (url) => fetch(url),
): Promise<void> {
  if (!isChinese(languageCode)) return;
  const answer = await get(catalogue);
  if (!answer.ok) throw new Error(`${catalogue} answers ${answer.status}`);
  setCatalog(await answer.json());
}
