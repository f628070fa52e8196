/**
 * The language of this page. It is settled before any page's module is read (see main.tsx), so that
 * texts may stand anywhere, also outside of functions; choosing another one loads the page anew.
 *
 * English stands in the sources. Another language's catalogue is fetched only by those who read it.
 */
import { i18n, type Messages } from '@lingui/core';
import { compileMessage } from '@lingui/message-utils/compileMessage';
import saidAddress from '../../../portal/said.zh.json?url';
import { keepHere, keptHere } from './kept';
import { type Language, languageOf, localeOf } from './language';
import { type Catalogue, setSaid } from './said';

const MOST_WAIT_MS = 4000;

let language: Language = 'en';
let tag = 'en';
/** What this page was to speak, and does unless that couldn't be fetched. */
let sought: Language = 'en';

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

/** The pages' words; null if they can't be fetched, which is told where developers look. */
async function words(): Promise<Messages | null> {
  try {
    return (await import('./zh')).messages;
  } catch (error) {
    reportError(error);
    return null;
  }
}

/** The portal's sentences, as data rather than as a program. A page without them is better than none,
 * and than one that waits for them: what the portal says is then in English. */
async function portalWords(): Promise<Catalogue | null> {
  try {
    const answer = await fetch(saidAddress, { signal: AbortSignal.timeout(MOST_WAIT_MS) });
    if (!answer.ok) throw new Error(`${saidAddress} answers ${answer.status}`);
    return (await answer.json()) as Catalogue;
  } catch (error) {
    reportError(error);
    return null;
  }
}

function settle(next: Language, messages: Messages): void {
  language = next;
  tag = localeOf(next, navigator.languages);
  document.documentElement.lang = tag;
  i18n.loadAndActivate({ locale: tag, messages });
}

/** Settles the page's language; to be awaited before anything is shown. It is English where the words
 * of another one can't be fetched. */
export async function speak(): Promise<void> {
  sought = languageOf(keptHere(), navigator.languages);
  i18n.setMessagesCompiler(parsedOnce);
  if (sought === 'en') return settle('en', {});
  const [messages, catalogue] = await Promise.all([words(), portalWords()]);
  if (messages === null) return settle('en', {});
  settle(sought, messages);
  setSaid(catalogue);
}

/** Takes on the language that its reader chooses, from the next page on; `null` is as the browser says.
 * A browser that keeps nothing stays with its own (see `keepsChoices`). */
export function speakNext(next: Language | null): void {
  if (keepHere(next) && languageOf(next, navigator.languages) !== language)
    window.location.reload();
}

/** Takes on what the portal keeps. A language that couldn't be fetched just now isn't tried again: the
 * page would be loaded for ever. */
export function follow(kept: Language | null): void {
  if (keepHere(kept) && languageOf(kept, navigator.languages) !== sought) window.location.reload();
}
