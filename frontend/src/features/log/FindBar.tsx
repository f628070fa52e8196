import { t } from '@lingui/core/macro';
import { ActionIcon, TextInput } from '@mantine/core';
import type { KeyboardEvent } from 'react';
import { Icon } from '@/ui/icons';
import classes from './LogPage.module.css';
import { matchText } from './labels';
import type { Finder } from './useFind';

/** The search field of a log; Enter goes to the previous match, as reading begins at the end. */
export function FindBar({ finder, partly }: { finder: Finder; partly: boolean }) {
  const { text, setText, result, index, step, typing } = finder;
  const none = result.matches.length === 0;
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') {
      event.preventDefault();
      step(event.shiftKey ? 1 : -1);
    } else if (event.key === 'Escape' && text !== '') {
      event.stopPropagation();
      setText('');
    }
  };
  return (
    <search className={classes.find}>
      <TextInput
        className={classes.findText}
        type="search"
        aria-label={t`Find in this log`}
        placeholder={t`Find in this log`}
        leftSection={<Icon name="search" size={16} />}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKey}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <ActionIcon
        variant="default"
        size={36}
        aria-label={t`Previous match`}
        disabled={none}
        onClick={() => step(-1)}
      >
        <Icon name="up" />
      </ActionIcon>
      <ActionIcon
        variant="default"
        size={36}
        aria-label={t`Next match`}
        disabled={none}
        onClick={() => step(1)}
      >
        <Icon name="down" />
      </ActionIcon>
      <span className={classes.count} role="status">
        {!typing && matchText(text, result, index, partly)}
      </span>
    </search>
  );
}
