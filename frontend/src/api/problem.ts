/** The portal's one error shape (RFC 9457 problem details) as an exception with a sentence to show. */

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

export interface FieldProblem {
  field: string;
  message: string;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly slug: Slug,
    detail: string,
    readonly fields: readonly FieldProblem[] = [],
    readonly retryAfterS: number | null = null,
    /** what else the problem says: its extension members (RFC 9457, 3.2) */
    readonly more: Readonly<Record<string, unknown>> = {},
  ) {
    super(detail);
    this.name = 'ApiError';
  }
}

export const OFFLINE_MESSAGE = t`The portal doesn't answer. Check your network connection; your sessions keep running.`;

/** `Retry-After` as seconds: it may be a number of seconds or a date (RFC 9110, 10.2.3). */
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

function fieldProblems(value: unknown): FieldProblem[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => {
    if (typeof item !== 'object' || item === null) return [];
    const { field, message } = item as Record<string, unknown>;
    return typeof field === 'string' && typeof message === 'string' ? [{ field, message }] : [];
  });
}

/** Builds the error for a refused request; a body that isn't ours (a proxy's page) still yields a sentence. */
export function toApiError(status: number, body: unknown, retryAfterS: number | null): ApiError {
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
  return new ApiError(status, slug, detail, fieldProblems(problem.errors), retryAfterS, problem);
}

/** The portal's own words for it are for those who log in: that it isn't their password. */
const DIRECTORY_SILENT = t`The directory doesn't answer, so nothing was changed there. Try again in a few minutes.`;

/** What to show for anything a request may throw. */
export function sentence(error: unknown): string {
  if (!(error instanceof ApiError)) return OFFLINE_MESSAGE;
  return error.slug === 'directory-unavailable' ? DIRECTORY_SILENT : translate(error.message);
}

/** For those who were logged in and gave their password again: only it can be wrong. The title is that
 * of the one refusal of its kind that is about what was typed; others are about the account, which may
 * be locked or switched off, and say so. */
export function wrongPassword(error: unknown): string | undefined {
  if (!(error instanceof ApiError) || error.slug !== 'wrong-credentials') return undefined;
  const typed = error.more.title === 'Wrong username or password';
  return typed ? t`This password is wrong.` : undefined;
}

/** The message for one field; `resources.cpus` and `body.resources.cpus` both answer to `cpus`. */
export function fieldMessage(error: unknown, name: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  return translate(
    error.fields.find((f) => f.field === name || f.field.endsWith(`.${name}`))?.message,
  );
}
