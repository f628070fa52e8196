/** Requests and texts of the login of programs on the user's devices. */
import { api, unwrap } from '@/api/client';
import type { WaitingDevice } from '@/api/types';

export const findDevice = (userCode: string): Promise<WaitingDevice> =>
  unwrap(api.POST('/api/v1/login/device/find', { body: { user_code: userCode } }));

export const approveDevice = (userCode: string, days: number): Promise<unknown> =>
  unwrap(
    api.POST('/api/v1/login/device/approve', {
      body: { user_code: userCode, expires_in_days: days },
    }),
  );

export const denyDevice = (userCode: string): Promise<unknown> =>
  unwrap(api.POST('/api/v1/login/device/deny', { body: { user_code: userCode } }));

/** Return the code in the fragment of the page's address, or "" for anything else. Pure. */
export function codeInFragment(hash: string): string {
  const text = hash.replace(/^#/, '').toUpperCase();
  return /^[A-Z]{4}-?[A-Z]{4}$/.test(text) ? text : '';
}
