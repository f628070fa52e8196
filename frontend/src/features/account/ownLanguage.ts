/** One's language: kept by the portal for every browser, while each has its own until it knows. Pure. */
import { isLanguage, type Language } from '@/i18n/language';

/** What a page should speak from now on, or null if it is right as it is. */
export function languageToTake(kept: unknown, spoken: Language): Language | null {
  return isLanguage(kept) && kept !== spoken ? kept : null;
}
