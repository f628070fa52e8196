import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Environment } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import { useMe } from '@/lib/useMe';
import formClasses from '@/ui/FormPage.module.css';
import { EnvironmentCard } from './EnvironmentCard';
import { favoritesFirst, matchesSearch } from './environments';
import { useFavorites } from './favorites';
import { loadLastStart } from './lastStart';
import classes from './StartPage.module.css';

interface Props {
  environments: Environment[];
  chosen: string | null;
  onChoose: (name: string) => void;
}

/** Environments shown before "Show all". */
const INITIALLY_SHOWN = 6;
/** With more environments than this, there is a search field. */
const MAX_WITHOUT_SEARCH = 5;

/** The environments to choose from, with a search: the user's favorites first, then the last used. */
export function EnvironmentCards({ environments, chosen, onChoose }: Props) {
  const { names: favorites, toggle } = useFavorites();
  const { username } = useMe();
  const [last] = useState(() => loadLastStart(username).environment);
  const [text, setText] = useState('');
  const [showAll, setShowAll] = useState(false);
  const search = text.trim();
  const ordered = favoritesFirst(environments, favorites, last);
  const matches = ordered.filter((environment) => matchesSearch(environment, search));
  const shown =
    showAll || search !== ''
      ? matches
      : matches.filter(({ name }, index) => index < INITIALLY_SHOWN || name === chosen);
  const count = matches.length;
  const hidden = count - shown.length;
  return (
    <fieldset className={formClasses.group}>
      <legend>
        <Term word="Environment">{t`Environment`}</Term>
      </legend>
      {environments.length > MAX_WITHOUT_SEARCH && (
        <TextInput
          className={classes.search}
          type="search"
          aria-label={t`Search environments`}
          placeholder={t`Search by framework, language or package`}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') event.preventDefault(); // Enter would submit the form
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
      <p className={classes.matches} role="status">
        {search !== '' &&
          (count === 0
            ? t`No environment matches all of these words.`
            : plural(count, { one: '# environment found.', other: '# environments found.' }))}
      </p>
      {hidden > 0 && (
        <Button variant="default" size="compact-sm" mt="sm" onClick={() => setShowAll(true)}>
          <Trans>Show all {count} environments</Trans>
        </Button>
      )}
    </fieldset>
  );
}
