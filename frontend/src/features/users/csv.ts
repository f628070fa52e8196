/** CSV files of users: the template, the report, and the passwords afterwards. Pure. */
import { plural, t } from '@lingui/core/macro';

import type { FirstPassword, ImportLine, UserImport } from './types';

/** The portal's limit of a request is 1 MiB; the rest is for what surrounds the text. */
export const MAX_BYTES = 1024 * 1024 - 1000;

export const TEMPLATE = [
  'username,given_name,surname,email,groups,login_group,slurm_account,uid,gid,home,shell,display_name',
  'alovelace,Ada,Lovelace,ada@example.org,physics;teaching,,,,,,,',
  '',
].join('\n');

/** Return what is wrong with the text; null if it can be sent. */
export function checkText(text: string): string | null {
  if (text.trim() === '') return t`Choose a file, or paste its lines here.`;
  const bytes = new TextEncoder().encode(JSON.stringify(text)).length;
  return bytes > MAX_BYTES
    ? t`This is more than the portal reads at once; split it into several files.`
    : null;
}

export type LineFilter = 'all' | 'error' | 'exists' | 'fine';

const isFine = ({ result }: ImportLine): boolean =>
  result === 'created' || result === 'would_create';

const ORDER: Record<ImportLine['result'], number> = {
  error: 0,
  exists: 1,
  would_create: 2,
  created: 2,
};

/** Sort mistakes first, then by line. */
export function shownRows(rows: readonly ImportLine[], filter: LineFilter): ImportLine[] {
  const isShown = (row: ImportLine): boolean =>
    filter === 'all' || (filter === 'fine' ? isFine(row) : row.result === filter);
  return rows.filter(isShown).sort((a, b) => ORDER[a.result] - ORDER[b.result] || a.line - b.line);
}

type Counts = Pick<UserImport, 'created' | 'exists' | 'failed' | 'total' | 'dry_run'>;

/** Summarize: "12 users would be created, 3 already exist and are unchanged, 2 lines have
 * mistakes". */
export function reportText({ created, exists, failed, dry_run }: Counts): string {
  if (dry_run)
    return t`${plural(created, {
      one: '# user would be created',
      other: '# users would be created',
    })}${plural(exists, {
      0: '',
      one: ', # already exists and is unchanged',
      other: ', # already exist and are unchanged',
    })}${plural(failed, {
      0: '',
      one: ', # line has mistakes',
      other: ', # lines have mistakes',
    })}.`;
  return t`${plural(created, {
    one: '# user was created',
    other: '# users were created',
  })}${plural(exists, {
    0: '',
    one: ', # already exists and is unchanged',
    other: ', # already exist and are unchanged',
  })}${plural(failed, { 0: '', other: ', # could not be created' })}.`;
}

/** Format a cell, quoted if necessary. */
function cell(text: string): string {
  return /[",\n\r;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Build the file of usernames and passwords. */
export function passwordsFile(passwords: readonly FirstPassword[]): string {
  const lines = passwords.map(({ username, password }) => `${cell(username)},${cell(password)}`);
  return ['username,one_time_password', ...lines, ''].join('\r\n');
}
