/** Navigation for code that is not a component, and for features, which must not import the application. */
import type { RegisteredRouter } from '@tanstack/react-router';

interface Navigation {
  router: RegisteredRouter;
  /** removes the user's data from this tab and goes to the login; `next` is where to go after it */
  goToLogin: (next: string) => Promise<void>;
}

let registered: Navigation | null = null;

/** Set the application's navigation; called once. */
export function setNavigation(navigation: Navigation): void {
  registered = navigation;
}

/** Return the application's navigation; an error before `setNavigation`. */
export function navigation(): Navigation {
  if (registered === null) throw new Error('the application has not set its navigation');
  return registered;
}
