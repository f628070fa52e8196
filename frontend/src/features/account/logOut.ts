import { api, unwrap } from '@/api/client';
import { goToLogin } from '@/app/router';
import { forgetLanguage } from '@/i18n/kept';
import { dropDrafts, tabStorage } from '@/lib/drafts';
import { complain } from '@/ui/complain';
import { tellTabs } from './otherTabs';

/** Ends the login of this browser, in all its tabs. */
export async function logOut(): Promise<void> {
  try {
    await unwrap(api.POST('/api/v1/logout'));
    dropDrafts(tabStorage());
    forgetLanguage();
    tellTabs({ kind: 'logged-out' });
    await goToLogin('/');
  } catch (error) {
    complain(error);
  }
}
