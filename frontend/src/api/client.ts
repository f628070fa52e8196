/** The typed client for the whole UI. It does not depend on React; subscribe to learn of a lost
 * login. */
import createClient, { type Middleware } from 'openapi-fetch';
import { clock } from '@/lib/clock';
import { fetchAfterLogin, lostLogin } from './lostLogin';
import { ApiError, OFFLINE_MESSAGE, retryAfterSeconds, toApiError } from './problem';
import type { paths } from './schema';

const loginLostListeners = new Set<() => void>();

/** Register a listener for a login that has ended and was not renewed in place. Returns a function
 * that unregisters it. */
export function onLoginLost(listener: () => void): () => void {
  loginLostListeners.add(listener);
  return () => loginLostListeners.delete(listener);
}

const watchAnswers: Middleware = {
  onResponse({ response }) {
    clock.learn(response.headers.get('date'), Date.now());
    return undefined;
  },
};

export const api = createClient<paths>({
  baseUrl: '',
  credentials: 'same-origin',
  fetch: fetchAfterLogin(lostLogin, (request) => fetch(request)),
});
api.use(watchAnswers);

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Return the response's data or throw an ApiError, also for a network failure (status 0). */
export async function unwrap<T>(request: Promise<Answer<T>>): Promise<T> {
  const answer = await request.catch(() => {
    throw new ApiError(0, 'offline', OFFLINE_MESSAGE);
  });
  const { response } = answer;
  if (response.ok) return answer.data as T;
  const error = toApiError(
    response.status,
    answer.error,
    retryAfterSeconds(response.headers.get('retry-after'), Date.now()),
    response.headers.get('x-request-id'),
  );
  if (error.slug === 'login-required') for (const listener of loginLostListeners) listener();
  throw error;
}
