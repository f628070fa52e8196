/** Splits a script into pieces with the names of their kinds, for syntax highlighting. Pure; see
 * languages.ts. */
import { classHighlighter, highlightTree } from '@lezer/highlight';
import { languageOf } from './languages';

export interface CodePiece {
  text: string;
  /** "tok-keyword" and the like; empty for plain text */
  names: string;
}

/** Longer scripts are not highlighted. */
export const MAX_CHARACTERS = 200_000;

export function highlight(script: string): CodePiece[] {
  if (script.length > MAX_CHARACTERS) return [{ text: script, names: '' }];
  const pieces: CodePiece[] = [];
  let position = 0;
  const add = (to: number, names: string): void => {
    if (to > position) pieces.push({ text: script.slice(position, to), names });
    position = Math.max(position, to);
  };
  highlightTree(languageOf(script).parser.parse(script), classHighlighter, (from, to, names) => {
    add(from, '');
    add(to, names);
  });
  add(script.length, '');
  return pieces;
}
