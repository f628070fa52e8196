import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Box, Paper, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { errorMessage } from '@/api/problem';
import { preferencesQuery, useSavePreferences } from '@/features/preferences/preferences';
import { changeLanguage } from '@/i18n';
import { LANGUAGES, type Language, NAMES, tagOf } from '@/i18n/language';
import { canStoreLanguage, storeLanguageBeforeLogin } from '@/i18n/storedLanguage';
import classes from '@/ui/AccountSection.module.css';
import { ChoiceCard } from '@/ui/ChoiceCard';
import { Notice } from '@/ui/Notice';
import { TryAgain } from '@/ui/TryAgain';

/** The display language, stored by the portal. */
export function LanguageSection() {
  const { data, error, refetch } = useQuery(preferencesQuery);
  const [keeps] = useState(canStoreLanguage);
  return (
    <Paper className={classes.section} component="section" aria-labelledby="language">
      <Title order={2} size="h4" id="language" mb="xs">
        <Trans>Language</Trans>
      </Title>
      <Text size="sm" mb="md">
        <Trans>
          This applies to every browser that you log in with, to your e-mails, and to JupyterLab in
          the sessions that you start from now on. If you follow the browser's language, e-mails and
          JupyterLab are in English.
        </Trans>
      </Text>
      {!keeps && (
        <Box mb="md">
          <Notice tone="warning">
            <Trans>
              This browser doesn't store data for this site, so the pages stay in the browser's
              language.
            </Trans>
          </Notice>
        </Box>
      )}
      {error && !data && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={120} aria-label={t`Loading`} />}
      {data && <Languages chosen={data.language} />}
    </Paper>
  );
}

function Languages({ chosen }: { chosen: Language | null }) {
  const { mutate } = useSavePreferences();
  const choose = (language: Language | null): void => {
    const onSuccess = (): void => {
      // this choice is newer than that made at the login
      storeLanguageBeforeLogin(null);
      changeLanguage(language);
    };
    mutate({ language }, { onSuccess });
  };
  const card = (language: Language | null, title: ReactNode) => (
    <ChoiceCard
      key={language ?? ''}
      group="language"
      value={language ?? ''}
      checked={chosen === language}
      onChoose={() => choose(language)}
      title={title}
    />
  );
  return (
    <fieldset className={classes.choices} aria-labelledby="language">
      <Stack gap="xs">
        {card(null, t`Same as browser`)}
        {LANGUAGES.map((each) => card(each, <span lang={tagOf(each)}>{NAMES[each]}</span>))}
      </Stack>
    </fieldset>
  );
}
