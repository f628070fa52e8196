/** The user's display language: the portal's preference applies in every browser, the browser's own
 * until that is known. Pure. */
import { isLanguage, type Language } from '@/i18n/language';

export type Step =
  /** display pages in it; null: the browser's language */
  | { does: 'follow'; language: Language | null }
  /** send the choice to the portal */
  | { does: 'save'; language: Language };

/**
 * Return what to do once the user is known. `stored` is the portal's preference, `chosen` the choice
 * made at this login. Anything else in the browser's storage may be another user's.
 */
export function afterLogin(stored: unknown, chosen: Language | null): Step {
  if (isLanguage(stored)) return { does: 'follow', language: stored };
  return chosen === null ? { does: 'follow', language: null } : { does: 'save', language: chosen };
}
