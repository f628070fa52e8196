/** What the portal's programs say, in Chinese: a catalogue of its own, fetched by whom it is for. */
import { setSaid } from '@/i18n/said';
import catalogue from '../../../portal/said.zh.json?url';
import { isChinese } from './words';

/** Until it is here, and if it can't be had, they are heard in English; the browser's console says why. */
export async function learnPortalWords(
  languageCode: string | undefined,
  get: (url: string) => Promise<Response> = (url) => fetch(url),
): Promise<void> {
  if (!isChinese(languageCode)) return;
  const answer = await get(catalogue);
  if (!answer.ok) throw new Error(`${catalogue} answers ${answer.status}`);
  setSaid(await answer.json());
}
