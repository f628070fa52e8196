import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Text, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { changeLanguage, currentLanguage } from '@/i18n';
import { LANGUAGES, type Language, NAMES, tagOf } from '@/i18n/language';
import { canStoreLanguage, storeLanguageBeforeLogin } from '@/i18n/storedLanguage';
import classes from './LoginPage.module.css';

interface Props {
  /** called before the page is reloaded */
  onLeave: () => void;
}

/**
 * A language menu for users who cannot read the page's language; after the login, the account's
 * preference applies.
 */
export function LanguageChoice({ onLeave }: Props) {
  const [keeps] = useState(canStoreLanguage);
  const choose = (language: Language): void => {
    // the portal stores it after the login, unless the account already has a preference
    storeLanguageBeforeLogin(language);
    if (language !== currentLanguage()) onLeave();
    changeLanguage(language);
  };
  if (!keeps)
    return (
      <Text className={classes.languages} component="p">
        <Trans>
          This browser doesn't store data for this site, so the pages stay in the browser's
          language.
        </Trans>
      </Text>
    );
  return (
    <nav className={classes.languages} aria-label={t`Language`}>
      {LANGUAGES.map((each) => (
        <UnstyledButton
          key={each}
          lang={tagOf(each)}
          aria-current={each === currentLanguage() ? 'true' : undefined}
          onClick={() => choose(each)}
        >
          {NAMES[each]}
        </UnstyledButton>
      ))}
    </nav>
  );
}
