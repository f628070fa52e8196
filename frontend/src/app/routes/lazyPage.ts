import { lazyRouteComponent } from '@tanstack/react-router';
import { ApiError, OFFLINE_MESSAGE } from '@/api/problem';

/** Return whether the portal answers at all. */
async function isReachable(): Promise<boolean> {
  try {
    return (await fetch('/', { method: 'HEAD' })).ok;
  } catch {
    return false;
  }
}

/**
 * Like `lazyRouteComponent`, which reloads the browser when a page's module is missing, as after an
 * upgrade. Without a network that would replace the portal with the browser's own error page, so
 * throw an ApiError then.
 */
export const lazyPage: typeof lazyRouteComponent = (importer, name) =>
  lazyRouteComponent(async () => {
    try {
      return await importer();
    } catch (error) {
      if (await isReachable()) throw error;
      throw new ApiError(0, 'offline', OFFLINE_MESSAGE);
    }
  }, name);
