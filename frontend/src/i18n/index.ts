/**
 * The language of this page. It is settled before any page's module is read (see main.tsx), so that
 * texts may stand anywhere, also outside of functions; choosing another one loads the page anew.
 *
 * English stands in the sources. Another language's catalogue is fetched only by those who read it.
 */
import { i18n, type Messages } from '@lingui/core';
import { compileMessage } from '@lingui/message-utils/compileMessage';
import saidAddress from '../../../portal/said.zh.json?url';
import { type Language, languageOf, localeOf } from './language';
import { type Catalogue, setSaid } from './said';

const KEY = 'portal-language';

/** Chosen in this browser; the portal keeps it too (`preferences.language`), for one's other ones. */
function chosenHere(): string | null {
  try {
    return window.localStorage.getItem(KEY);
  } catch {
    return null; // storage is switched off: as the browser says
  }
}

let language: Language = 'en';
let tag = 'en';

/** The language that this page speaks. */
export const currentLanguage = (): Language => language;

/** For `toLocaleString` and its like. */
export const locale = (): string => tag;

/** What is in the sources is parsed when it is first said; Lingui itself would do so every time. */
const parsed = new Map<string, ReturnType<typeof compileMessage>>();
export function parsedOnce(message: string): ReturnType<typeof compileMessage> {
  const compiled = parsed.get(message) ?? compileMessage(message);
  parsed.set(message, compiled);
  return compiled;
}

async function words(): Promise<Messages> {
  return (await import('./zh')).messages;
}

/** The portal's sentences, as data rather than as a program. A page without them is better than none:
 * what the portal says is then in English. */
async function portalWords(): Promise<Catalogue | null> {
  try {
    const answer = await fetch(saidAddress);
    return answer.ok ? ((await answer.json()) as Catalogue) : null;
  } catch {
    return null;
  }
}

/** Settles the page's language; to be awaited before anything is shown. */
export async function speak(): Promise<void> {
  language = languageOf(chosenHere(), navigator.languages);
  tag = localeOf(language, navigator.languages);
  document.documentElement.lang = tag;
  i18n.setMessagesCompiler(parsedOnce);
  if (language === 'en') {
    i18n.loadAndActivate({ locale: tag, messages: {} });
    return;
  }
  const [messages, catalogue] = await Promise.all([words(), portalWords()]);
  i18n.loadAndActivate({ locale: tag, messages });
  setSaid(catalogue);
}

/** Takes another language from the next page on; `null` is as the browser says. */
export function speakNext(next: Language | null): void {
  try {
    if (next === null) window.localStorage.removeItem(KEY);
    else window.localStorage.setItem(KEY, next);
  } catch {
    return; // it can't be kept here, so the browser's own language stays
  }
  if (languageOf(next, navigator.languages) !== language) window.location.reload();
}
