import { t } from '@lingui/core/macro';
import { UnstyledButton } from '@mantine/core';
import { currentLanguage, speakNext } from '@/i18n';
import { keepBeforeLogin } from '@/i18n/kept';
import { LANGUAGES, type Language, NAMES, tagOf } from '@/i18n/language';
import classes from './LoginPage.module.css';

/** The portal keeps it after the login, unless it already keeps another choice of theirs. */
function choose(language: Language): void {
  keepBeforeLogin(language);
  speakNext(language);
}

/** For whoever can't read the page as it is; once logged in, the choice of their account counts. */
export function LanguageChoice() {
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
