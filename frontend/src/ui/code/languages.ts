/** Languages of scripts, by their first line. Heavy: loaded only where a script is shown or written. */
import { StreamLanguage } from '@codemirror/language';
import { python } from '@codemirror/legacy-modes/mode/python';
import { shell } from '@codemirror/legacy-modes/mode/shell';

const shellScript = StreamLanguage.define(shell);
const pythonScript = StreamLanguage.define(python);

/** Python where the first line says so, else the shell's: what has no such line is run by bash. */
export function languageOf(script: string) {
  const [first = ''] = script.split('\n', 1);
  return /^#!.*\bpython/.test(first) ? pythonScript : shellScript;
}
