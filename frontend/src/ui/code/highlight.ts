/** Splits a script into pieces with CSS classes, for syntax highlighting. Pure; see languages.ts. */
import { classHighlighter, highlightTree } from '@lezer/highlight';
import { languageOf } from './languages';

export interface CodePiece {
  text: string;
  /** CSS classes such as "tok-keyword"; empty for plain text */
  classNames: string;
}

/** Longer scripts are not highlighted. */
export const MAX_CHARACTERS = 200_000;

export function highlight(script: string): CodePiece[] {
  if (script.length > MAX_CHARACTERS) return [{ text: script, classNames: '' }];
  const pieces: CodePiece[] = [];
  let position = 0;
  const add = (to: number, classNames: string): void => {
    if (to > position) pieces.push({ text: script.slice(position, to), classNames });
    position = Math.max(position, to);
  };
  highlightTree(
    languageOf(script).parser.parse(script),
    classHighlighter,
    (from, to, classNames) => {
      add(from, '');
      add(to, classNames);
    },
  );
  add(script.length, '');
  return pieces;
}
