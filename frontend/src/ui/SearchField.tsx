import { TextInput } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';

interface Props {
  label: string;
  placeholder?: string;
  /** the current search text; the page keeps it in its address */
  value: string;
  onSearch: (text: string) => void;
  className?: string | undefined;
}

const TYPED_MS = 250;

/** A field that searches while the user types, shortly after the last key. */
export function SearchField({ label, placeholder, value, onSearch, className }: Props) {
  const [text, setText] = useState(value);
  const search = useRef(onSearch);
  search.current = onSearch;
  // Apply a search that changed elsewhere (a link, "back"); a trailing space stays.
  useEffect(() => setText((typed) => (typed.trim() === value ? typed : value)), [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing starts a search
  useEffect(() => {
    if (text.trim() === value) return;
    const timer = window.setTimeout(() => search.current(text.trim()), TYPED_MS);
    return () => window.clearTimeout(timer);
  }, [text]);
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
