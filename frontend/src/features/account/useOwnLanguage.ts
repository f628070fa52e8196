import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { preferencesQuery, useSavePreferences } from '@/features/preferences/preferences';
import { followStoredLanguage } from '@/i18n';
import { languageBeforeLogin, storeLanguageBeforeLogin } from '@/i18n/storedLanguage';
import { afterLogin } from './ownLanguage';

/** Has the page speak what its reader has chosen, and the portal know what they chose at the login. */
export function useOwnLanguage(): void {
  const { data } = useQuery(preferencesQuery);
  const { mutate } = useSavePreferences();
  const checked = useRef(false);
  useEffect(() => {
    // a reload now would undo the choice
    if (checked.current || !data) return;
    checked.current = true;
    const { does, language } = afterLogin(data.language, languageBeforeLogin());
    // a choice that could not be sent is sent by the next page
    if (does === 'save') mutate({ language }, { onSuccess: () => storeLanguageBeforeLogin(null) });
    else {
      storeLanguageBeforeLogin(null);
      followStoredLanguage(language);
    }
  }, [data, mutate]);
}
