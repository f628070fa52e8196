/** The portal's one error shape (RFC 9457 problem details) as an exception with a message to show. */

import { t } from '@lingui/core/macro';
import { translate } from '@/i18n/translate';

export type Slug =
  | 'login-required'
  | 'wrong-credentials'
  | 'too-many-attempts'
  | 'password-required'
  | 'not-found'
  | 'conflict'
  | 'invalid-input'
  | 'offline'
  | (string & {});

export interface FieldError {
  field: string;
  message: string;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly slug: Slug,
    detail: string,
    readonly fields: readonly FieldError[] = [],
    readonly retryAfterS: number | null = null,
    /** the problem's extension members (RFC 9457, 3.2) */
    readonly more: Readonly<Record<string, unknown>> = {},
    /** identifies the request in the portal's log */
    readonly requestId: string | null = null,
  ) {
    super(detail);
    this.name = 'ApiError';
  }
}

export const OFFLINE_MESSAGE = t`The portal doesn't answer. Check your network connection; your sessions keep running.`;

/** Parse `Retry-After` to seconds: it may be a number of seconds or a date (RFC 9110, 10.2.3). */
export function retryAfterSeconds(header: string | null, nowMs: number): number | null {
  if (header === null || header.trim() === '') return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, Math.ceil(seconds));
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - nowMs) / 1000));
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

function parseFieldErrors(value: unknown): FieldError[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => {
    if (typeof item !== 'object' || item === null) return [];
    const { field, message } = item as Record<string, unknown>;
    return typeof field === 'string' && typeof message === 'string' ? [{ field, message }] : [];
  });
}

/** Build the error for a refused request. A body that isn't ours (a proxy's page) still yields a
 * message. */
export function toApiError(
  status: number,
  body: unknown,
  retryAfterS: number | null,
  requestId: string | null = null,
): ApiError {
  const problem = (typeof body === 'object' && body !== null ? body : {}) as Record<
    string,
    unknown
  >;
  const type = text(problem.type);
  const slug = type?.startsWith('urn:portal:') ? type.slice('urn:portal:'.length) : 'unknown';
  const detail =
    text(problem.detail) ??
    text(problem.title) ??
    (status >= 500
      ? t`The portal is temporarily unavailable. Try again in a minute.`
      : t`The portal rejected the request (${status}).`);
  const fields = parseFieldErrors(problem.errors);
  return new ApiError(status, slug, detail, fields, retryAfterS, problem, requestId);
}

/** Replaces the portal's detail, which is written for the login form. */
const DIRECTORY_SILENT = t`The directory doesn't answer, so nothing was changed there. Try again in a few minutes.`;

/** Return the message to show for anything that a request may throw. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof ApiError)) return OFFLINE_MESSAGE;
  if (error.slug === 'directory-unavailable') return DIRECTORY_SILENT;
  const message = translate(error.message);
  const { requestId } = error;
  // an error of the portal itself, which only its log explains
  if (error.status !== 500 || requestId === null) return message;
  return t`${message} Report it to your administrators with this number: ${requestId}`;
}

/** Return the message for a wrong password of a user who is logged in and confirmed it. Errors
 * with another title concern the account, which may be locked or disabled, and keep their own
 * message. */
export function wrongPassword(error: unknown): string | undefined {
  if (!(error instanceof ApiError) || error.slug !== 'wrong-credentials') return undefined;
  const typed = error.more.title === 'Wrong username or password';
  return typed ? t`This password is wrong.` : undefined;
}

/** Return the message for one field; `resources.cpus` and `body.resources.cpus` both match `cpus`. */
export const fieldMessage = (error: unknown, name: string): string | undefined =>
  error instanceof ApiError ? messageAt(error.fields, name) : undefined;

export function messageAt(fields: readonly FieldError[], name: string): string | undefined {
  return translate(fields.find((f) => f.field === name || f.field.endsWith(`.${name}`))?.message);
}
