import { api, unwrap } from '@/api/client';
import { broadcastLoginEvent } from '@/features/login/otherTabs';
import { forgetLanguage } from '@/i18n/storedLanguage';
import { dropDrafts, tabStorage } from '@/lib/drafts';
import { navigation } from '@/lib/navigation';
import { showError } from '@/ui/showError';

/** End the login of this browser, in all its tabs. */
export async function logOut(): Promise<void> {
  try {
    await unwrap(api.POST('/api/v1/logout'));
    dropDrafts(tabStorage());
    forgetLanguage();
    broadcastLoginEvent({ kind: 'logged-out' });
    await navigation().goToLogin('/');
  } catch (error) {
    showError(error);
  }
}
