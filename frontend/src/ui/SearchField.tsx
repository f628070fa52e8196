import { TextInput } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { SERVER_SEARCH_DELAY_MS } from '@/lib/typing';

interface Props {
  label: string;
  placeholder?: string;
  /** the current search text; the page keeps it in its address */
  value: string;
  onSearch: (text: string) => void;
  className?: string | undefined;
}

const discards = new Set<() => void>();

/** Discard what was typed but not yet searched for: for actions that show everything. */
export function discardTypedSearches(): void {
  for (const discard of discards) discard();
}

/** A field that searches while the user types, shortly after the last key. */
export function SearchField({ label, placeholder, value, onSearch, className }: Props) {
  const [text, setText] = useState(value);
  const search = useRef(onSearch);
  search.current = onSearch;
  // Show a search that changed elsewhere (a link, "back"). When one of the field's own appears in the
  // address, the user may have typed on.
  const started = useRef<string[]>([]);
  const applied = useRef(value);
  useEffect(() => {
    if (value === applied.current) return;
    applied.current = value;
    const own = started.current.indexOf(value);
    started.current.splice(0, own < 0 ? started.current.length : own + 1);
    if (own < 0) setText(value);
  }, [value]);
  useEffect(() => {
    const discard = (): void => {
      started.current = [];
      setText(applied.current);
    };
    discards.add(discard);
    return () => void discards.delete(discard);
  }, []);
  useEffect(() => {
    if (text.trim() === value) return;
    const timer = window.setTimeout(() => {
      started.current.push(text.trim());
      search.current(text.trim());
    }, SERVER_SEARCH_DELAY_MS);
    return () => window.clearTimeout(timer);
  }, [text, value]);
  return (
    <TextInput
      className={className}
      type="search"
      aria-label={label}
      placeholder={placeholder ?? label}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
    />
  );
}
