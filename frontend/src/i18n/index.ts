/**
 * The language of this page. It is set before any page's module is loaded (see main.tsx), so texts
 * may stand anywhere, also outside of functions; changing it reloads the page. English is in the
 * sources; another language's catalog is fetched only by its readers.
 */
import { i18n, type Messages } from '@lingui/core';
import { compileMessage } from '@lingui/message-utils/compileMessage';
import catalogUrl from '../../../portal/i18n/zh.json?url';
import { type Language, languageOf, localeOf } from './language';
import { storedLanguage, storeLanguage } from './storedLanguage';
import { type Catalog, setCatalog } from './translate';

const MOST_WAIT_MS = 4000;

let language: Language = 'en';
let tag = 'en';
/** What this page was to speak, and does unless that couldn't be fetched. */
let wantedLanguage: Language = 'en';

/** The language that this page speaks. */
export const currentLanguage = (): Language => language;

/** For `toLocaleString` and its like. */
export const locale = (): string => tag;

/**
 * Compile a message of the sources on first use and cache it; Lingui itself would do so every time.
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

/** The portal's sentences, as data rather than as a program. A page without them is better than none,
 * and than one that waits for them: what the portal says is then in English. */
async function loadServerCatalog(): Promise<Catalog | null> {
  try {
    const answer = await fetch(catalogUrl, { signal: AbortSignal.timeout(MOST_WAIT_MS) });
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
  document.documentElement.lang = tag;
  i18n.loadAndActivate({ locale: tag, messages });
}

/** Settles the page's language; to be awaited before anything is shown. It is English where the words
 * of another one can't be fetched. */
export async function startLanguage(): Promise<void> {
  wantedLanguage = languageOf(storedLanguage(), navigator.languages);
  i18n.setMessagesCompiler(compileCached);
  if (wantedLanguage === 'en') return activate('en', {});
  const [messages, catalogue] = await Promise.all([loadMessages(), loadServerCatalog()]);
  if (messages === null) return activate('en', {});
  activate(wantedLanguage, messages);
  setCatalog(catalogue);
}

/** Takes on the language that its reader chooses, from the next page on; `null` is as the browser says.
 * A browser that keeps nothing stays with its own (see `keepsChoices`). */
export function changeLanguage(next: Language | null): void {
  if (storeLanguage(next) && languageOf(next, navigator.languages) !== language)
    window.location.reload();
}

/** Takes on what the portal keeps. A language that couldn't be fetched just now isn't tried again: the
 * page would be loaded for ever. */
export function followStoredLanguage(kept: Language | null): void {
  if (storeLanguage(kept) && languageOf(kept, navigator.languages) !== wantedLanguage)
    window.location.reload();
}
