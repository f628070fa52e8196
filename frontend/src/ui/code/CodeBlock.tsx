import { useEffect, useState } from 'react';
import classes from './Code.module.css';
import type { CodePiece } from './highlight';

/** A script's pieces once the colours have come; until then, and where they can't, null. */
function useHighlighted(text: string): CodePiece[] | null {
  const [pieces, setPieces] = useState<{ of: string; found: CodePiece[] } | null>(null);
  useEffect(() => {
    let wanted = true;
    void import('./highlight').then(
      ({ highlighted }) => {
        if (wanted) setPieces({ of: text, found: highlighted(text) });
      },
      () => undefined, // a script without colours can be read as well
    );
    return () => {
      wanted = false;
    };
  }, [text]);
  return pieces?.of === text ? pieces.found : null;
}

/** A script to read, in colours. */
export function CodeBlock({ text, label }: { text: string; label: string }) {
  const pieces = useHighlighted(text);
  return (
    <section
      className={`${classes.code} ${classes.shown}`}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it
      tabIndex={0}
    >
      <pre>
        {pieces === null
          ? text
          : pieces.map((piece, at) =>
              piece.names === '' ? (
                piece.text
              ) : (
                // biome-ignore lint/suspicious/noArrayIndexKey: a piece has no other name than its place
                <span key={at} className={piece.names}>
                  {piece.text}
                </span>
              ),
            )}
      </pre>
    </section>
  );
}
