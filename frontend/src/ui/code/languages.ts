/** Languages of scripts, by their first line. A large module: loaded only where a script is shown
 * or edited. */
import { StreamLanguage } from '@codemirror/language';
import { python } from '@codemirror/legacy-modes/mode/python';
import { shell } from '@codemirror/legacy-modes/mode/shell';

const shellScript = StreamLanguage.define(shell);
const pythonScript = StreamLanguage.define(python);

/** Return Python if the first line names it, else shell: bash runs scripts without such a line. */
export function languageOf(script: string) {
  const [first = ''] = script.split('\n', 1);
  return /^#!.*\bpython/.test(first) ? pythonScript : shellScript;
}
