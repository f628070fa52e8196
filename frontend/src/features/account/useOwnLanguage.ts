import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { preferencesQuery, useSavePreferences } from '@/features/preferences/preferences';
import { followStoredLanguage } from '@/i18n';
import { languageBeforeLogin, storeLanguageBeforeLogin } from '@/i18n/storedLanguage';
import { afterLogin } from './ownLanguage';

/** Sync the display language with the user's preference, including a choice made at the login. */
export function useOwnLanguage(): void {
  const { data } = useQuery(preferencesQuery);
  const { mutate } = useSavePreferences();
  const checked = useRef(false);
  useEffect(() => {
    // only once: a language chosen later changes `data` before it is saved, and following it would
    // reload the page and lose it
    if (checked.current || !data) return;
    checked.current = true;
    const { does, language } = afterLogin(data.language, languageBeforeLogin());
    // the next page repeats a choice that could not be sent
    if (does === 'save') mutate({ language }, { onSuccess: () => storeLanguageBeforeLogin(null) });
    else {
      storeLanguageBeforeLogin(null);
      followStoredLanguage(language);
    }
  }, [data, mutate]);
}
