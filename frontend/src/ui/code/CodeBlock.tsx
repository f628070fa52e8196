import { useEffect, useState } from 'react';
import classes from './Code.module.css';
import type { CodePiece } from './highlight';

/** Return a script's highlighted pieces; null until the highlighter is loaded, or if that fails. */
function useHighlighted(text: string): CodePiece[] | null {
  const [pieces, setPieces] = useState<{ source: string; result: CodePiece[] } | null>(null);
  useEffect(() => {
    let mounted = true;
    void import('./highlight').then(
      ({ highlight }) => {
        if (mounted) setPieces({ source: text, result: highlight(text) });
      },
      () => undefined, // show it without colors
    );
    return () => {
      mounted = false;
    };
  }, [text]);
  return pieces?.source === text ? pieces.result : null;
}

/** A read-only script with syntax highlighting. */
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
          : pieces.map((piece, index) =>
              piece.classNames === '' ? (
                piece.text
              ) : (
                // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their position
                <span key={index} className={piece.classNames}>
                  {piece.text}
                </span>
              ),
            )}
      </pre>
    </section>
  );
}
