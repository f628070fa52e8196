import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Modal, useMantineColorScheme, VisuallyHidden } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useId, useMemo, useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { Session } from '@/api/types';
import { logOut } from '@/features/account/logOut';
import { userSearchQuery } from '@/features/directory/queries';
import { extendSession, startAgain } from '@/features/sessions/actions';
import { navigation } from '@/lib/navigation';
import { seesAdmin } from '@/lib/roles';
import { minutesAsTime } from '@/lib/time';
import { SERVER_CHECK_DELAY_MS, SERVER_SEARCH_DELAY_MS } from '@/lib/typing';
import { useMe } from '@/lib/useMe';
import { useLive } from '@/live/store';
import { Icon } from '@/ui/icons';
import { showError } from '@/ui/showError';
import {
  allCommands,
  type Command,
  fileCommand,
  jobActions,
  jobCommand,
  jobNameIn,
  matchCommands,
  missingFilesTexts,
  type Question,
  searchCommands,
  userCommand,
  withoutKnown,
} from './commands';
import { showDialog } from './dialogs';
import classes from './Palette.module.css';
import { QuestionDialog } from './QuestionDialog';
import { fileSearchQuery, jobSearchQuery } from './queries';
import { shownFolder } from './shownFolder';

/** The command palette: finds pages, sessions, jobs, files and actions. */
export function Palette({ opened }: { opened: boolean }) {
  const [question, setQuestion] = useState<Question | null>(null);
  const [asking, setAsking] = useState(false);
  const ask = (asked: Question): void => {
    setQuestion(asked);
    setAsking(true);
  };
  return (
    <>
      <Modal.Root
        opened={opened}
        onClose={() => showDialog(null)}
        yOffset="8vh"
        size="lg"
        centered={false}
      >
        <Modal.Overlay />
        <Modal.Content>
          <Modal.Body className={classes.body ?? ''}>
            <VisuallyHidden>
              <Modal.Title>
                <Trans>Find a page, a session, a job, a file or an action</Trans>
              </Modal.Title>
            </VisuallyHidden>
            <Finder ask={ask} />
          </Modal.Body>
        </Modal.Content>
      </Modal.Root>
      {question && (
        <QuestionDialog question={question} opened={asking} onClose={() => setAsking(false)} />
      )}
    </>
  );
}

const ENOUGH_TYPED = 2;

interface Found {
  commands: Command[];
  /** about the search for files: that it runs, failed, or left something out */
  notes: string[];
}

function useFound(text: string): Found {
  const me = useMe();
  const sessions = useLive((s) => s.sessions);
  const jobs = useLive((s) => s.jobs);
  const known = useMemo(() => allCommands({ me, sessions, jobs }), [me, sessions, jobs]);
  const [typed] = useDebouncedValue(text.trim(), SERVER_SEARCH_DELAY_MS);
  const asks = typed.length >= ENOUGH_TYPED;
  // A slow search is acceptable: the pages of jobs and users find the rest.
  const name = jobNameIn(typed);
  const found = useQuery({ ...jobSearchQuery(name), enabled: asks }).data;
  const users = useQuery({ ...userSearchQuery(typed), enabled: asks && seesAdmin(me) }).data;
  const files = useFiles(text.trim());
  const commands = useMemo(() => {
    const matches = matchCommands(known, text);
    const isCurrent = asks && typed === text.trim();
    const all = (found ?? []).flatMap((job) => [jobCommand(job), ...jobActions(job)]);
    const foundJobs = name === typed ? all : matchCommands(all, text);
    return [
      ...matches,
      ...(isCurrent ? withoutKnown(foundJobs, matches) : []),
      ...(isCurrent ? (users ?? []).map(userCommand) : []),
      ...files.commands,
      ...searchCommands(me, text),
    ];
  }, [known, text, asks, typed, name, found, users, files.commands, me]);
  return { commands, notes: files.notes };
}

const NO_COMMANDS: Command[] = [];

/** The files whose names match, in the folder that the Files page shows, else in the home. */
function useFiles(text: string): Found {
  const [typed] = useDebouncedValue(text, SERVER_CHECK_DELAY_MS);
  const asks = text.length >= ENOUGH_TYPED;
  const isCurrent = asks && typed === text;
  const { data, error, isFetching } = useQuery({
    ...fileSearchQuery({ ...shownFolder(navigation().router.state.location), q: typed }),
    enabled: isCurrent,
  });
  const items = isCurrent ? data?.items : undefined;
  const commands = useMemo(() => items?.map(fileCommand) ?? NO_COMMANDS, [items]);
  if (!asks) return { commands, notes: [] };
  if (!isCurrent || isFetching) return { commands, notes: [t`Searching your files…`] };
  if (error) return { commands, notes: [t`Files can't be searched. ${errorMessage(error)}`] };
  return { commands, notes: data ? missingFilesTexts(data) : [] };
}

function useExecute(ask: (question: Question) => void): (command: Command) => void {
  const { setColorScheme } = useMantineColorScheme();
  return ({ effect }) => {
    showDialog(null);
    const { router } = navigation();
    switch (effect.kind) {
      case 'page':
        void router.navigate({ href: effect.href });
        return;
      case 'tab':
        window.open(effect.href, '_blank', 'noopener');
        return;
      case 'files':
        void router.navigate({ to: '/files', search: effect.search });
        return;
      case 'extend':
        void extend(effect.session, effect.minutes).catch(showError);
        return;
      case 'start-again':
        void openAgain(effect.session).catch(showError);
        return;
      case 'action':
        if (effect.action === 'shortcuts') showDialog('shortcuts');
        else if (effect.action === 'log-out') void logOut();
        else setColorScheme(effect.action);
        return;
      default:
        ask(effect);
    }
  };
}

async function extend({ id, name }: Session, minutes: number): Promise<void> {
  await extendSession(id, minutes);
  const time = minutesAsTime(minutes);
  notifications.show({ message: t`${time} more for ${name}.` });
}

async function openAgain(session: Session): Promise<void> {
  const { name } = await startAgain(session);
  await navigation().router.navigate({ to: '/start-again/$name', params: { name } });
}

/** Return the index after a key in a list of `count`, or null for other keys. */
function nextIndex(key: string, active: number, count: number): number | null {
  switch (key) {
    case 'ArrowDown':
      return (active + 1) % count;
    case 'ArrowUp':
      return (active - 1 + count) % count;
    case 'PageDown':
      return count - 1;
    case 'PageUp':
      return 0;
    default:
      return null;
  }
}

function Finder({ ask }: { ask: (question: Question) => void }) {
  const id = useId();
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const { commands, notes } = useFound(text);
  const execute = useExecute(ask);
  const chosen = Math.min(active, commands.length - 1);
  const optionId = (index: number): string => `${id}-${index}`;

  const choose = (index: number): void => {
    setActive(index);
    document.getElementById(optionId(index))?.scrollIntoView({ block: 'nearest' });
  };

  const onKey = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing || commands.length === 0) return;
    const command = commands[chosen];
    const next = nextIndex(event.key, chosen, commands.length);
    if (event.key !== 'Enter' && next === null) return;
    event.preventDefault();
    if (next !== null) choose(next);
    else if (command) execute(command);
  };

  return (
    <>
      <div className={classes.search}>
        <Icon name="search" />
        <input
          className={classes.field}
          type="text"
          role="combobox"
          aria-label={t`Find a page, a session, a job, a file or an action`}
          aria-expanded={commands.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={commands.length > 0 ? optionId(chosen) : undefined}
          aria-autocomplete="list"
          placeholder={t`Search or run a command…`}
          data-autofocus
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setActive(0);
          }}
          onKeyDown={onKey}
        />
      </div>
      <div id={`${id}-list`} role="listbox" aria-label={t`Found`} className={classes.list}>
        {commands.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and the keys
          <div
            key={command.id}
            id={optionId(index)}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            className={classes.option}
            onMouseMove={() => setActive(index)}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => execute(command)}
          >
            <span className={classes.title}>{command.title}</span>
            <span className={classes.detail}>{command.detail}</span>
          </div>
        ))}
      </div>
      <div role="status">
        {notes.map((note) => (
          <p key={note} className={classes.note}>
            {note}
          </p>
        ))}
      </div>
      <VisuallyHidden role="status">
        {plural(commands.length, { one: '# found', other: '# found' })}
      </VisuallyHidden>
    </>
  );
}
