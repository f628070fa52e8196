/** Navigation for code that is not a component, and for features, which must not import the application. */
import type { RegisteredRouter } from '@tanstack/react-router';

interface Navigation {
  router: RegisteredRouter;
  /** ends what the user has open in this tab and asks for a login; `next` is where to go after it */
  goToLogin: (next: string) => Promise<void>;
  /** fetches the pages that follow a login */
  preloadHome: () => void;
}

let registered: Navigation | null = null;

/** Called once, by the application. */
export function setNavigation(navigation: Navigation): void {
  registered = navigation;
}

/** Return the application's navigation; an error before `setNavigation`. */
export function navigation(): Navigation {
  if (registered === null) throw new Error('the application has not set its navigation');
  return registered;
}
