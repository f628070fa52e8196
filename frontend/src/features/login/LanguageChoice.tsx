import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Text, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { currentLanguage, speakNext } from '@/i18n';
import { keepBeforeLogin, keepsChoices } from '@/i18n/kept';
import { LANGUAGES, type Language, NAMES, tagOf } from '@/i18n/language';
import classes from './LoginPage.module.css';

interface Props {
  /** before the page is loaded anew */
  onLeave: () => void;
}

/** For whoever can't read the page as it is; once logged in, the choice of their account counts. */
export function LanguageChoice({ onLeave }: Props) {
  const [keeps] = useState(keepsChoices);
  const choose = (language: Language): void => {
    // the portal keeps it after the login, unless it already keeps another choice of theirs
    keepBeforeLogin(language);
    if (language !== currentLanguage()) onLeave();
    speakNext(language);
  };
  if (!keeps)
    return (
      <Text className={classes.languages} component="p">
        <Trans>
          This browser keeps nothing for this site, so the pages stay in the browser's language.
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
