/** Password confirmation of sensitive actions: the password is requested when the portal requires
 * it, or taken from the login dialog over the page (`LoginAgain`), for which the action has
 * waited. */
import { api } from '@/api/client';
import { lostLogin } from '@/api/lostLogin';
import { ApiError } from '@/api/problem';

/** A running action; `password`: the one entered at the login for which it waited. */
interface RunningAction {
  password: string | null;
}

const running = new Set<RunningAction>();

/**
 * Run an action. If the portal requires the password for it, confirm the one just entered, or ask
 * for it, and repeat the action.
 */
export async function runWithPassword<T>(
  action: () => Promise<T>,
  askForPassword: () => Promise<void>,
): Promise<T> {
  const own: RunningAction = { password: null };
  running.add(own);
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof ApiError) || error.slug !== 'password-required') throw error;
  } finally {
    running.delete(own);
  }
  if (own.password === null || !(await confirm(own.password))) await askForPassword();
  return action();
}

/**
 * Resume the requests that waited for a login. Only actions that run now may use its password. For
 * all others the portal asks for it, so that a page opened later does not find it confirmed.
 */
export function resumeRequests(password: string | null): void {
  for (const action of running) action.password = password;
  lostLogin.answer(true);
}

async function confirm(password: string): Promise<boolean> {
  const answer = await api.POST('/api/v1/reauth', { body: { password } }).catch(() => null);
  return answer?.response.ok ?? false;
}
