/** One's language: kept by the portal for every browser, while each has its own until it knows. Pure. */
import { isLanguage, type Language } from '@/i18n/language';

export type Step =
  /** the pages go by it here; null is as the browser says */
  | { does: 'follow'; language: Language | null }
  /** the portal is told */
  | { does: 'tell'; language: Language };

/** What is to be done once it is known who reads. `kept` is what the portal has of them, `chosen` what
 * they have chosen at this login. What else a browser keeps may be somebody else's. */
export function afterLogin(kept: unknown, chosen: Language | null): Step {
  if (isLanguage(kept)) return { does: 'follow', language: kept };
  return chosen === null ? { does: 'follow', language: null } : { does: 'tell', language: chosen };
}
