/**
 * The Chinese translations of the server's messages: a separate catalog, fetched only by readers of
 * Chinese.
 */
import { setCatalog } from '@/i18n/translate';
import translations from '../../../portal/i18n/zh.json?url';
import { isChinese } from './messages';

/** Load the translations. Without them messages stay English, and the browser's console has the
 * reason. */
export async function loadServerMessages(
  languageCode: string | undefined,
  get: (url: string) => Promise<Response> = (url) => fetch(url),
): Promise<void> {
  if (!isChinese(languageCode)) return;
  const answer = await get(translations);
  if (!answer.ok) throw new Error(`${translations} answers ${answer.status}`);
  setCatalog(await answer.json());
}
