import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Popover, Text, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, useState } from 'react';
import { glossaryQuery } from './glossary';
import { explanation } from './parse';
import classes from './Term.module.css';

interface Props {
  /** a word of docs/glossary.md, or one that it gives the same meaning: English in any language */
  word: string;
  /** as it stands there, in the page's language */
  children: string;
}

/** A technical word that explains itself where it stands. Not for within a label or another button. */
export function Term({ word, children }: Props) {
  const [open, setOpen] = useState(false);
  // The focus stays on the word, so the explanation itself hears of no key; what the word stands in,
  // such as a node's details, shall not close with it.
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
  /** as for a Term; the label itself if left out, which may be a word in the page's language */
  word?: string;
  children: string;
}

/** A label that explains itself if the glossary has it, and is plain text if not, or until it is there. */
export function MaybeTerm({ children: label, word = label }: MaybeProps) {
  const { data: entries } = useQuery(glossaryQuery);
  return entries && explanation(entries, word) ? <Term word={word}>{label}</Term> : label;
}

function Explained({ word }: { word: string }) {
  const { data: entries, isError } = useQuery(glossaryQuery);
  if (isError)
    return (
      <Text size="sm">
        <Trans>The explanation couldn't be loaded. Try again.</Trans>
      </Text>
    );
  const entry = entries && explanation(entries, word);
  if (!entry) return <Text size="sm">…</Text>;
  return (
    <>
      <Text size="sm">{entry.text}</Text>
      <Text size="sm" mt="xs">
        <Link to="/glossary" hash={entry.anchor}>
          <Trans>All words</Trans>
        </Link>
      </Text>
    </>
  );
}
