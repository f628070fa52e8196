import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { currentLanguage, speakNext } from '@/i18n';
import { languageToTake } from './ownLanguage';
import { preferencesQuery } from './preferences';

/** In a browser that doesn't know yet which language its reader has chosen, the page takes that. */
export function useOwnLanguage(): void {
  const { data } = useQuery(preferencesQuery);
  const looked = useRef(false);
  useEffect(() => {
    // only at first: what is chosen later is shown before the portal keeps it, and a page that is
    // loaded anew then would take the choice back
    if (looked.current || !data) return;
    looked.current = true;
    const next = languageToTake(data.language, currentLanguage());
    if (next !== null) speakNext(next);
  }, [data]);
}
