import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Environment } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import { EnvironmentCard } from './EnvironmentCard';
import { favoritesFirst, isFound } from './environments';
import { useFavorites } from './favorites';
import classes from './StartPage.module.css';

interface Props {
  environments: Environment[];
  chosen: string | null;
  onChoose: (name: string) => void;
}

/** So many are a choice; more want to be searched. */
const SHOWN_AT_FIRST = 6;
const WORTH_SEARCHING = 5;

/** The environments, one's favourites first; found by what one types. */
export function EnvironmentCards({ environments, chosen, onChoose }: Props) {
  const { names: favorites, toggle } = useFavorites();
  const [text, setText] = useState('');
  const [all, setAll] = useState(false);
  const typed = text.trim();
  const ordered = favoritesFirst(environments, favorites);
  const found = ordered.filter((one) => isFound(one, typed));
  const shown =
    all || typed !== ''
      ? found
      : found.filter((one, at) => at < SHOWN_AT_FIRST || one.name === chosen);
  const count = found.length;
  const hidden = count - shown.length;
  return (
    <fieldset className={classes.group}>
      <legend>
        <Term word="Environment">{t`Environment`}</Term>
      </legend>
      {environments.length > WORTH_SEARCHING && (
        <TextInput
          className={classes.search}
          type="search"
          aria-label={t`Search environments`}
          placeholder={t`Search by framework, language or package`}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') event.preventDefault(); // it would start a session
          }}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
      )}
      <div className={classes.cards}>
        {shown.map((environment) => (
          <EnvironmentCard
            key={environment.name}
            environment={environment}
            checked={environment.name === chosen}
            favorite={favorites.includes(environment.name)}
            onChoose={onChoose}
            onToggleFavorite={toggle}
          />
        ))}
      </div>
      <p className={classes.found} role="status">
        {typed !== '' &&
          (count === 0
            ? t`No environment matches all of these words.`
            : plural(count, { one: '# environment found.', other: '# environments found.' }))}
      </p>
      {hidden > 0 && (
        <Button variant="default" size="compact-sm" mt="sm" onClick={() => setAll(true)}>
          <Trans>Show all {count} environments</Trans>
        </Button>
      )}
    </fieldset>
  );
}
