/** The catalog's problems, taken apart for the page. Pure. */
import { t } from '@lingui/core/macro';

export interface CatalogProblem {
  /** the file's name alone, for reading */
  name: string;
  /** its whole path, for finding it; empty where the line names none */
  file: string;
  /** what of the file, as `default_resources.gpus`; empty where it is the file itself */
  field: string;
  what: string;
}

const FILE = /^(\/.*?\.[a-z]+|\/[^:]*): (.*)$/s;
const FIELD = /^([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*): (.*)$/s;

/** `/site/environments/a.yaml: gpu: 'maybe' is not one of …` in its parts; a line of another form
 * stays whole. */
export function catalogProblem(line: string): CatalogProblem {
  const [, file = '', rest = line] = FILE.exec(line) ?? [];
  const [, field = '', what = rest] = (file && FIELD.exec(rest)) || [];
  return { name: file.split('/').pop() ?? '', file, field, what };
}

/** Of each kind, how many can be used: "17 of 19 can be used". */
export function usable(items: readonly { available: boolean }[]): string {
  const all = items.length;
  const can = items.filter((item) => item.available).length;
  return can === all ? t`All ${can} available` : t`${can} of ${all} available`;
}
