import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { joinWithCommas } from '@/i18n/lists';
import { Notice } from '@/ui/Notice';
import { PageTitle } from '@/ui/PageTitle';
import { SearchField } from '@/ui/SearchField';
import classes from './GlossaryPage.module.css';
import { glossaryQuery } from './glossary';
import { type Entry, searchEntries } from './parse';

/** The glossary: all terms of the pages with their definitions. */
export function GlossaryPage() {
  const { data: entries, isError, refetch } = useQuery(glossaryQuery);
  return (
    <>
      <PageTitle tab={t`Glossary`}>
        <Trans>Glossary</Trans>
      </PageTitle>
      {isError && (
        <Stack align="flex-start">
          <Notice tone="error">
            <Trans>The explanations couldn't be loaded.</Trans>
          </Notice>
          <Button variant="default" onClick={() => void refetch()}>
            <Trans>Try again</Trans>
          </Button>
        </Stack>
      )}
      {!entries && !isError && <Skeleton height={240} aria-label={t`Loading`} />}
      {entries && <EntryList entries={entries} />}
    </>
  );
}

function EntryList({ entries }: { entries: readonly Entry[] }) {
  const [text, setText] = useState('');
  const hash = useLocation({ select: (location) => location.hash });
  useEffect(() => {
    document.getElementById(hash)?.scrollIntoView();
  }, [hash]);
  const matching = searchEntries(entries, text);
  return (
    <>
      <SearchField
        label={t`Search terms`}
        value={text}
        onSearch={setText}
        className={classes.search}
      />
      <div role="status">
        {matching.length === 0 && (
          <Text c="dimmed">
            <Trans>No matching words. Ask your administrator to add one.</Trans>
          </Text>
        )}
      </div>
      <dl className={classes.words}>
        {matching.map(({ anchor, word, also, text: explained }) => (
          <div key={anchor} id={anchor} className={classes.entry} data-here={hash === anchor}>
            <dt>
              {word}
              {also.length > 0 && <span className={classes.also}>{joinWithCommas(also)}</span>}
            </dt>
            <dd>{explained}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
