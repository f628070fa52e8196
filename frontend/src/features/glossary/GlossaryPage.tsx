import { Text } from '@mantine/core';
import { useLocation } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { PageTitle } from '@/app/PageTitle';
import { SearchField } from '@/ui/SearchField';
import classes from './GlossaryPage.module.css';
import { GLOSSARY } from './glossary';
import { anchorOf, found } from './parse';

/** All words of the pages with what they mean. */
export function GlossaryPage() {
  const [text, setText] = useState('');
  const hash = useLocation({ select: (location) => location.hash });
  useEffect(() => {
    document.getElementById(hash)?.scrollIntoView();
  }, [hash]);
  const entries = found(GLOSSARY, text);
  return (
    <>
      <PageTitle tab="Words explained">Words explained</PageTitle>
      <SearchField
        label="Search words"
        value={text}
        onSearch={setText}
        className={classes.search}
      />
      <div role="status">
        {entries.length === 0 && (
          <Text c="dimmed">No word fits. Ask your administrator, who can add it.</Text>
        )}
      </div>
      <dl className={classes.words}>
        {entries.map(({ word, also, text: explained }) => (
          <div
            key={word}
            id={anchorOf(word)}
            className={classes.entry}
            data-here={hash === anchorOf(word)}
          >
            <dt>
              {word}
              {also.length > 0 && <span className={classes.also}>{also.join(', ')}</span>}
            </dt>
            <dd>{explained}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
