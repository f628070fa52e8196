/**
 * The language of this page. It is set before any page's module is loaded (see main.tsx), so texts
 * may be used anywhere, including outside of functions; changing it reloads the page. English is in
 * the sources; another language's messages are fetched only for its users.
 */
import { i18n, type Messages } from '@lingui/core';
import { compileMessage } from '@lingui/message-utils/compileMessage';
import catalogUrl from '../../../portal/i18n/zh.json?url';
import { storedClock } from './clockFormat';
import { keepEscapes } from './escapes';
import { dateLocaleOf, type Language, languageOf, localeOf } from './language';
import { storedLanguage, storeLanguage } from './storedLanguage';
import { type Catalog, setCatalog } from './translate';

const MAX_WAIT_MS = 4000;

let language: Language = 'en';
let tag = 'en';
let dateTag = 'en';
/** The requested language. It differs from `language` if its messages could not be fetched. */
let requestedLanguage: Language = 'en';

/** Return the language of this page. */
export const currentLanguage = (): Language => language;

/** Return the locale for `toLocaleString` and similar functions of numbers and names. */
export const locale = (): string => tag;

/** Return the locale for such functions of dates. */
export const dateLocale = (): string => dateTag;

/**
 * Messages of the sources, compiled on first use; Lingui itself would compile them every time.
 */
const compiledMessages = new Map<string, ReturnType<typeof compileMessage>>();
export function compileCached(message: string): ReturnType<typeof compileMessage> {
  const compiled = compiledMessages.get(message) ?? compileMessage(message);
  compiledMessages.set(message, compiled);
  return compiled;
}

/** Load the pages' translations; null, with a report in the console, if they cannot be fetched. */
async function loadMessages(): Promise<Messages | null> {
  try {
    return (await import('./zh')).messages;
  } catch (error) {
    reportError(error);
    return null;
  }
}

/** Load the translations of server messages, which are data rather than code. The page waits for them
 * for at most `MAX_WAIT_MS`; without them it shows those messages in English. */
async function loadServerCatalog(): Promise<Catalog | null> {
  try {
    const answer = await fetch(catalogUrl, { signal: AbortSignal.timeout(MAX_WAIT_MS) });
    if (!answer.ok) throw new Error(`${catalogUrl} answers ${answer.status}`);
    return (await answer.json()) as Catalog;
  } catch (error) {
    reportError(error);
    return null;
  }
}

function activate(next: Language, messages: Messages): void {
  language = next;
  tag = localeOf(next, navigator.languages);
  dateTag = dateLocaleOf(next, navigator.languages, storedClock());
  document.documentElement.lang = tag;
  i18n.loadAndActivate({ locale: tag, messages });
}

/** Set the page's language; await it before anything is shown. If a language's page messages cannot
 * be fetched, the page is English. */
export async function startLanguage(): Promise<void> {
  requestedLanguage = languageOf(storedLanguage(), navigator.languages);
  i18n.setMessagesCompiler(compileCached);
  keepEscapes(i18n);
  if (requestedLanguage === 'en') return activate('en', {});
  const [messages, translations] = await Promise.all([loadMessages(), loadServerCatalog()]);
  if (messages === null) return activate('en', {});
  activate(requestedLanguage, messages);
  setCatalog(translations);
}

/** Change the language and reload the page; `null` is the browser's language. Without storage the
 * browser's language stays (see `canStoreLanguage`). */
export function changeLanguage(next: Language | null): void {
  if (storeLanguage(next) && languageOf(next, navigator.languages) !== language)
    window.location.reload();
}

/** Apply the portal's stored preference. A language whose messages could not be fetched is not
 * tried again, or the page would reload forever. */
export function followStoredLanguage(stored: Language | null): void {
  if (storeLanguage(stored) && languageOf(stored, navigator.languages) !== requestedLanguage)
    window.location.reload();
}
