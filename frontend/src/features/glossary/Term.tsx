import { Popover, Text, UnstyledButton } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { anchorOf, explanation } from './parse';
import classes from './Term.module.css';

/** Fetched when the first word may want it. */
const glossaryQuery = queryOptions({
  queryKey: ['glossary'],
  queryFn: async () => (await import('./glossary')).GLOSSARY,
  staleTime: Number.POSITIVE_INFINITY,
});

interface Props {
  /** a word of docs/glossary.md, or one that it gives the same meaning; the one shown if left out */
  word?: string;
  children: ReactNode;
}

/** A technical word that explains itself where it stands. Not for within a label or another button. */
export function Term({ word, children }: Props) {
  const [open, setOpen] = useState(false);
  const wanted = word ?? (typeof children === 'string' ? children : '');
  return (
    <Popover opened={open} onChange={setOpen} width={300} position="bottom-start" shadow="md">
      <Popover.Target>
        <UnstyledButton className={classes.term} onClick={() => setOpen(!open)}>
          {children}
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown aria-label={`What is ${wanted}?`}>
        <Explained word={wanted} />
      </Popover.Dropdown>
    </Popover>
  );
}

/** A label that explains itself if the glossary has it, and is plain text if not, or until it is there. */
export function MaybeTerm({ children: label }: { children: string }) {
  const { data: entries } = useQuery(glossaryQuery);
  return entries && explanation(entries, label) ? <Term>{label}</Term> : label;
}

function Explained({ word }: { word: string }) {
  const { data: entries, isError } = useQuery(glossaryQuery);
  if (isError) return <Text size="sm">The explanation couldn't be fetched. Try again.</Text>;
  const entry = entries && explanation(entries, word);
  if (!entry) return <Text size="sm">…</Text>;
  return (
    <>
      <Text size="sm">{entry.text}</Text>
      <Text size="sm" mt="xs">
        <Link to="/glossary" hash={anchorOf(entry.word)}>
          All words
        </Link>
      </Text>
    </>
  );
}
