/** One's language: kept by the portal for every browser, while each has its own until it knows. Pure. */
import { isLanguage, type Language } from '@/i18n/language';

export type Step =
  /** the pages go by it here; null is as the browser says */
  | { does: 'follow'; language: Language | null }
  /** send the choice to the portal */
  | { does: 'save'; language: Language };

/**
 * Return what to do once the user is known. `kept` is the portal's preference, `chosen` the choice
 * made at this login. Anything else in the browser's storage may be another user's.
 */
export function afterLogin(kept: unknown, chosen: Language | null): Step {
  if (isLanguage(kept)) return { does: 'follow', language: kept };
  return chosen === null ? { does: 'follow', language: null } : { does: 'save', language: chosen };
}
