/** The catalog's problems, parsed for the page. Pure. */
import { t } from '@lingui/core/macro';

export interface CatalogProblem {
  /** the file's name alone, for display */
  name: string;
  /** its whole path, for the tooltip; empty if the line names no file */
  file: string;
  /** the field in the file, such as `default_resources.gpus`; empty for the file itself */
  field: string;
  message: string;
}

const FILE = /^(\/.*?\.[a-z]+|\/[^:]*): (.*)$/s;
const FIELD = /^([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*): (.*)$/s;

/** Parse `/site/environments/a.yaml: gpu: 'maybe' is not one of …`; a line of another form becomes
 * the problem's text. */
export function parseProblem(line: string): CatalogProblem {
  const [, file = '', rest = line] = FILE.exec(line) ?? [];
  const [, field = '', message = rest] = (file && FIELD.exec(rest)) || [];
  return { name: file.split('/').pop() ?? '', file, field, message };
}

/** Return how many items are available: "17 of 19 available". */
export function availableText(items: readonly { available: boolean }[]): string {
  const all = items.length;
  const available = items.filter((item) => item.available).length;
  return available === all ? t`All ${available} available` : t`${available} of ${all} available`;
}
