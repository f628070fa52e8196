/** Files of users: the template, what a report says, and the passwords afterwards. Pure. */
import { plural, t } from '@lingui/core/macro';

import type { FirstPassword, ImportLine, UserImport } from './types';

/** The longest request the portal reads is one MiB; a little stays for what is around the text. */
export const MOST_BYTES = 1024 * 1024 - 1000;

export const TEMPLATE = [
  'username,given_name,surname,email,groups,login_group,slurm_account,uid,gid,home,shell,display_name',
  'alovelace,Ada,Lovelace,ada@example.org,physics;teaching,,,,,,,',
  '',
].join('\n');

/** Null for text that can be sent; else what is wrong with it. */
export function textProblem(text: string): string | null {
  if (text.trim() === '') return t`Choose a file, or paste its lines here.`;
  const bytes = new TextEncoder().encode(JSON.stringify(text)).length;
  return bytes > MOST_BYTES
    ? t`This is more than the portal reads at once; split it into several files.`
    : null;
}

export type Which = 'all' | 'error' | 'exists' | 'fine';

const isFine = ({ result }: ImportLine): boolean =>
  result === 'created' || result === 'would_create';

const ORDER: Record<ImportLine['result'], number> = {
  error: 0,
  exists: 1,
  would_create: 2,
  created: 2,
};

/** Mistakes first, then by line. */
export function shownRows(rows: readonly ImportLine[], which: Which): ImportLine[] {
  const wanted = (row: ImportLine): boolean =>
    which === 'all' || (which === 'fine' ? isFine(row) : row.result === which);
  return rows.filter(wanted).sort((a, b) => ORDER[a.result] - ORDER[b.result] || a.line - b.line);
}

type Counts = Pick<UserImport, 'created' | 'exists' | 'failed' | 'total' | 'dry_run'>;

/** "12 users would be created, 3 already exist and are unchanged, 2 lines have mistakes" */
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

/** One cell: quoted where it has to be. */
function cell(text: string): string {
  return /[",\n\r;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A file to hand passwords out from. */
export function passwordsFile(found: readonly FirstPassword[]): string {
  const lines = found.map(({ username, password }) => `${cell(username)},${cell(password)}`);
  return ['username,one_time_password', ...lines, ''].join('\r\n');
}
