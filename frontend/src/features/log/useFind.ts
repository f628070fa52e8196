import { useDebouncedValue } from '@mantine/hooks';
import { useEffect, useMemo, useState } from 'react';
import { LOCAL_SEARCH_DELAY_MS } from '@/lib/typing';
import type { LogDoc } from './doc';
import { findMatches, isSameMatch, type Match, type SearchResult } from './find';

export interface Finder {
  text: string;
  setText: (text: string) => void;
  result: SearchResult;
  /** the current match, and its index among all */
  current: Match | null;
  index: number;
  step: (by: 1 | -1) => void;
  /** whether the last typed text is still being searched */
  typing: boolean;
}

/** A search in a log. The last match is the first current one, as the log's end is visible. */
export function useFind(doc: LogDoc, initial: string): Finder {
  const [text, setText] = useState(initial);
  const [query] = useDebouncedValue(text, LOCAL_SEARCH_DELAY_MS);
  const [chosen, setChosen] = useState<Match | null>(null);
  const result = useMemo(() => findMatches(doc, query), [doc, query]);
  const { matches } = result;
  const hasMatches = matches.length > 0;
  // Later output does not move the reader away from the current match.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new search text starts over
  useEffect(() => setChosen(matches.at(-1) ?? null), [query, hasMatches]);
  const index = chosen === null ? -1 : matches.findIndex((match) => isSameMatch(match, chosen));
  return {
    text,
    setText,
    result,
    current: index < 0 ? null : chosen,
    index,
    step: (by) => {
      const next = matches[(index + by + matches.length) % Math.max(1, matches.length)];
      if (next) setChosen(next);
    },
    typing: text !== query,
  };
}
