/** Files of people: the template, what a report says, and the passwords afterwards. Pure. */

import type { FirstPassword, ImportLine, PeopleImport } from './shapes';
import { peopleText } from './words';

/** The longest request the portal reads is one MiB; a little stays for what is around the text. */
export const MOST_BYTES = 1024 * 1024 - 1000;

export const TEMPLATE = [
  'username,given_name,surname,email,groups,uid,gid,home,shell,display_name',
  'alovelace,Ada,Lovelace,ada@example.org,physics;teaching,,,,,',
  '',
].join('\n');

/** Null for text that can be sent; else what is wrong with it. */
export function textProblem(text: string): string | null {
  if (text.trim() === '') return 'Choose a file, or paste its lines here.';
  const bytes = new TextEncoder().encode(JSON.stringify(text)).length;
  return bytes > MOST_BYTES
    ? 'This is more than the portal reads at once; divide it into several files.'
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

type Counts = Pick<PeopleImport, 'created' | 'exists' | 'failed' | 'total' | 'dry_run'>;

/** "12 people would be created, 3 exist already, 2 lines have mistakes" */
export function reportText({ created, exists, failed, dry_run }: Counts): string {
  const made = `${peopleText(created)} ${dry_run ? 'would be' : created === 1 ? 'was' : 'were'} created`;
  const parts = [made];
  if (exists > 0)
    parts.push(
      `${exists} ${exists === 1 ? 'exists' : 'exist'} already and ${exists === 1 ? 'stays' : 'stay'} as before`,
    );
  if (failed > 0)
    parts.push(
      dry_run
        ? `${failed} ${failed === 1 ? 'line has' : 'lines have'} mistakes`
        : `${failed} could not be created`,
    );
  return `${parts.join(', ')}.`;
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
