import { useDebouncedValue } from '@mantine/hooks';
import { useEffect, useMemo, useState } from 'react';
import type { LogDoc } from './doc';
import { type Finding, type Found, find } from './find';

const TYPED_MS = 200;

export interface Finder {
  text: string;
  setText: (text: string) => void;
  finding: Finding;
  /** the one to look at, and its place among those found, from 0 */
  current: Found | null;
  at: number;
  step: (by: 1 | -1) => void;
  /** what was typed last is still being looked for */
  typing: boolean;
}

/** Looking for words in a log; of those found, the last is looked at first, as the log's end is. */
export function useFind(doc: LogDoc, initial: string): Finder {
  const [text, setText] = useState(initial);
  const [wanted] = useDebouncedValue(text, TYPED_MS);
  const [chosen, setChosen] = useState<Found | null>(null);
  const finding = useMemo(() => find(doc, wanted), [doc, wanted]);
  const { found } = finding;
  const some = found.length > 0;
  // Lines that come later don't take the reader away from what was found first.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new search text starts over
  useEffect(() => setChosen(found.at(-1) ?? null), [wanted, some]);
  const at = chosen === null ? -1 : found.findIndex((one) => isAt(one, chosen));
  return {
    text,
    setText,
    finding,
    current: at < 0 ? null : chosen,
    at,
    step: (by) => {
      const next = found[(at + by + found.length) % Math.max(1, found.length)];
      if (next) setChosen(next);
    },
    typing: text !== wanted,
  };
}

const isAt = (one: Found, other: Found): boolean =>
  one.key === other.key && one.line === other.line && one.start === other.start;
