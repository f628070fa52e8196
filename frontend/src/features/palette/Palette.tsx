import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Modal, useMantineColorScheme, VisuallyHidden } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useId, useMemo, useState } from 'react';
import { logOut } from '@/features/account/logOut';
import { userSearchQuery } from '@/features/directory/queries';
import { navigation } from '@/lib/navigation';
import { seesAdmin } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { useLive } from '@/live/store';
import { Icon } from '@/ui/icons';
import { allCommands, type Command, matching, searches, userCommand } from './commands';
import { openDialog } from './openDialog';
import classes from './Palette.module.css';

/** One field that finds every page, session, job and act. */
export function Palette({ opened }: { opened: boolean }) {
  return (
    <Modal.Root
      opened={opened}
      onClose={() => openDialog(null)}
      yOffset="8vh"
      size="lg"
      centered={false}
    >
      <Modal.Overlay />
      <Modal.Content>
        <Modal.Body className={classes.body ?? ''}>
          <VisuallyHidden>
            <Modal.Title>
              <Trans>Find a page, a session, a job or an action</Trans>
            </Modal.Title>
          </VisuallyHidden>
          <Finder />
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

const ENOUGH_TYPED = 2;
const TYPED_MS = 200;

function useFound(text: string): Command[] {
  const me = useMe();
  const sessions = useLive((s) => s.sessions);
  const jobs = useLive((s) => s.jobs);
  const all = useMemo(() => allCommands({ me, sessions, jobs }), [me, sessions, jobs]);
  const [typed] = useDebouncedValue(text.trim(), TYPED_MS);
  const asksUsers = seesAdmin(me) && typed.length >= ENOUGH_TYPED;
  // A slow search is no problem: the page of users finds the rest.
  const { data: users } = useQuery({ ...userSearchQuery(typed), enabled: asksUsers });
  return useMemo(
    () => [
      ...matching(all, text),
      ...(asksUsers && typed === text.trim() ? (users ?? []).map(userCommand) : []),
      ...searches(me, text),
    ],
    [all, text, asksUsers, typed, users, me],
  );
}

function useDo(): (command: Command) => void {
  const { setColorScheme } = useMantineColorScheme();
  return ({ does }) => {
    openDialog(null);
    if (does.kind === 'page') void navigation().router.navigate({ href: does.href });
    else if (does.kind === 'tab') window.open(does.href, '_blank', 'noopener');
    else if (does.act === 'shortcuts') openDialog('shortcuts');
    else if (does.act === 'log-out') void logOut();
    else setColorScheme(does.act);
  };
}

/** The step that a key makes in a list of `count`. */
function moved(key: string, at: number, count: number): number | null {
  switch (key) {
    case 'ArrowDown':
      return (at + 1) % count;
    case 'ArrowUp':
      return (at - 1 + count) % count;
    case 'PageDown':
      return count - 1;
    case 'PageUp':
      return 0;
    default:
      return null;
  }
}

function Finder() {
  const id = useId();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const found = useFound(text);
  const act = useDo();
  const chosen = Math.min(at, found.length - 1);
  const optionId = (index: number): string => `${id}-${index}`;

  const choose = (index: number): void => {
    setAt(index);
    document.getElementById(optionId(index))?.scrollIntoView({ block: 'nearest' });
  };

  const onKey = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing || found.length === 0) return;
    const command = found[chosen];
    const next = moved(event.key, chosen, found.length);
    if (event.key !== 'Enter' && next === null) return;
    event.preventDefault();
    if (next !== null) choose(next);
    else if (command) act(command);
  };

  return (
    <>
      <div className={classes.search}>
        <Icon name="search" />
        <input
          className={classes.field}
          type="text"
          role="combobox"
          aria-label={t`Find a page, a session, a job or an action`}
          aria-expanded={found.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={found.length > 0 ? optionId(chosen) : undefined}
          aria-autocomplete="list"
          placeholder={t`Where to, or what to do?`}
          data-autofocus
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKey}
        />
      </div>
      <div id={`${id}-list`} role="listbox" aria-label={t`Found`} className={classes.list}>
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and the keys
          <div
            key={command.id}
            id={optionId(index)}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            className={classes.option}
            onMouseMove={() => setAt(index)}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => act(command)}
          >
            <span className={classes.title}>{command.title}</span>
            <span className={classes.detail}>{command.detail}</span>
          </div>
        ))}
      </div>
      <VisuallyHidden role="status">
        {plural(found.length, { one: '# found', other: '# found' })}
      </VisuallyHidden>
    </>
  );
}
