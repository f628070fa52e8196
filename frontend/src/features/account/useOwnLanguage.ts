import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { follow } from '@/i18n';
import { chosenBeforeLogin, keepBeforeLogin } from '@/i18n/kept';
import { afterLogin } from './ownLanguage';
import { preferencesQuery, useChoose } from './preferences';

/** Has the page speak what its reader has chosen, and the portal know what they chose at the login. */
export function useOwnLanguage(): void {
  const { data } = useQuery(preferencesQuery);
  const { mutate } = useChoose();
  const looked = useRef(false);
  useEffect(() => {
    // only at first: what is chosen later is shown before the portal keeps it, and a page that is
    // loaded anew then would take the choice back
    if (looked.current || !data) return;
    looked.current = true;
    const { does, language } = afterLogin(data.language, chosenBeforeLogin());
    // a choice that the portal couldn't be told is told to it by the next page
    if (does === 'tell') mutate({ language }, { onSuccess: () => keepBeforeLogin(null) });
    else {
      keepBeforeLogin(null);
      follow(language);
    }
  }, [data, mutate]);
}
