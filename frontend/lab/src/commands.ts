/** JupyterLab's commands, and the menu that holds them: in the menu bar, and at the time left. */
import { translate } from '@/i18n/translate';
import type { Actions } from './actions';
import type { CommandArgs, Commands, Menu, NotebookTracker, Palette } from './jupyter';
import { messages } from './messages';
import type { Watch } from './watch';

export const EXTEND = 'portal:extend';
const TENSORBOARD = 'portal:tensorboard';
const RUN_NOTEBOOK = 'portal:run-notebook';
const BACK = 'portal:back';
const STOP = 'portal:stop';
const OTHERS = [TENSORBOARD, RUN_NOTEBOOK, BACK, STOP];
/** Used by the File menu of spawner/catalog/lab_config.py. */
export const TERMINAL = 'portal:terminal';

const minutesOf = (args: CommandArgs, acts: Actions): number | undefined =>
  typeof args.minutes === 'number' ? args.minutes : acts.choices[0];

export function addCommands(
  commands: Commands,
  watch: Watch,
  acts: Actions,
  notebooks: NotebookTracker | undefined,
): void {
  const known = () => watch.facts !== null;
  commands.addCommand(EXTEND, {
    label: (args) => {
      const minutes = minutesOf(args, acts);
      if (minutes !== undefined) return messages.extend(minutes);
      const reason = watch.facts?.session.extension?.reason;
      return reason ? messages.cantExtend(translate(reason)) : messages.extending;
    },
    isEnabled: () => acts.choices.length > 0,
    isVisible: known,
    execute: (args) => {
      const minutes = minutesOf(args, acts);
      return minutes === undefined ? undefined : acts.extend(minutes);
    },
  });
  commands.addCommand(TENSORBOARD, {
    label: messages.tensorboard,
    isVisible: known,
    execute: () => acts.tensorboard(),
  });
  commands.addCommand(RUN_NOTEBOOK, {
    label: messages.runNotebook,
    isEnabled: () => Boolean(notebooks?.currentWidget),
    isVisible: known,
    execute: () => acts.runNotebook(notebooks?.currentWidget ?? null),
  });
  commands.addCommand(BACK, { label: messages.back, isVisible: known, execute: () => acts.back() });
  commands.addCommand(STOP, { label: messages.stop, isVisible: known, execute: () => acts.stop() });
  commands.addCommand(TERMINAL, {
    label: ({ title }) => (typeof title === 'string' ? title : ''),
    execute: ({ name }) => commands.execute('terminal:create-new', { name }),
  });
  notebooks?.currentChanged.connect(() => commands.notifyCommandChanged(RUN_NOTEBOOK));
}

export function addToPalette(palette: Palette | undefined): void {
  for (const command of [EXTEND, ...OTHERS])
    palette?.addItem({ command, category: messages.palette });
}

/** Keeps a menu's entries in step with what can be added; they change seldom. */
export function fillMenu(menu: Menu, commands: Commands, watch: Watch, acts: Actions): void {
  menu.title.label = messages.menu;
  let shown: string | null = null;
  const fill = () => {
    const { choices } = acts;
    const wanted = JSON.stringify([choices, watch.facts?.session.extension?.reason]);
    if (wanted === shown) return;
    shown = wanted;
    menu.clearItems();
    for (const minutes of choices) menu.addItem({ command: EXTEND, args: { minutes } });
    if (choices.length === 0) menu.addItem({ command: EXTEND });
    menu.addItem({ type: 'separator' });
    for (const command of OTHERS) menu.addItem({ command });
    commands.notifyCommandChanged();
  };
  watch.onChange(fill);
  fill();
}
