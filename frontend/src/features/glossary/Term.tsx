import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Popover, Text, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, useState } from 'react';
import { glossaryQuery } from './glossary';
import { findEntry } from './parse';
import classes from './Term.module.css';

interface Props {
  /** an English term of docs/glossary.md, or one of its synonyms there */
  word: string;
  /** the term as displayed, in the page's language */
  children: string;
}

/** A term with a popup that explains it. Not to be used inside a label or another button. */
export function Term({ word, children }: Props) {
  const [open, setOpen] = useState(false);
  // The focus stays on the term, so the popup receives no key events. Escape must not also close
  // what contains the term, such as a node's details.
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!open || event.key !== 'Escape') return;
    event.preventDefault();
    setOpen(false);
  };
  return (
    <Popover opened={open} onChange={setOpen} width={300} position="bottom-start" shadow="md">
      <Popover.Target>
        <UnstyledButton
          className={classes.term}
          onClick={() => setOpen(!open)}
          onKeyDown={onKeyDown}
        >
          {children}
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown aria-label={t`Explanation of ${{ shown: children }}`}>
        <Explained word={word} />
      </Popover.Dropdown>
    </Popover>
  );
}

interface MaybeProps {
  /** like Term's; the label itself if left out, which may be in the page's language */
  word?: string;
  children: string;
}

/** A label with an explanation if the glossary has the term; plain text otherwise, or until the
 * glossary is loaded. */
export function MaybeTerm({ children: label, word = label }: MaybeProps) {
  const { data: entries } = useQuery(glossaryQuery);
  return entries && findEntry(entries, word) ? <Term word={word}>{label}</Term> : label;
}

function Explained({ word }: { word: string }) {
  const { data: entries, isError } = useQuery(glossaryQuery);
  if (isError)
    return (
      <Text size="sm">
        <Trans>The explanation couldn't be loaded. Try again.</Trans>
      </Text>
    );
  const entry = entries && findEntry(entries, word);
  if (!entry) return <Text size="sm">…</Text>;
  return (
    <>
      <Text size="sm">{entry.text}</Text>
      <Text size="sm" mt="xs">
        <Link to="/glossary" hash={entry.anchor}>
          <Trans>All terms</Trans>
        </Link>
      </Text>
    </>
  );
}
