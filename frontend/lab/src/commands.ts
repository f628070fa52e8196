/** JupyterLab's commands, and the portal's menu, which opens from the menu bar and from the
 * remaining time. */
import { translate } from '@/i18n/translate';
import type { Actions } from './actions';
import type { CommandArgs, Commands, Menu, NotebookTracker, Palette } from './jupyter';
import { messages } from './messages';
import type { SessionWatch } from './watch';

export const EXTEND = 'portal:extend';
export const PANEL = 'portal:panel';
const PANEL_KEYS = ['Alt Shift J'];
export const TENSORBOARD_TAB = 'portal:tensorboard-tab';
const TENSORBOARD = 'portal:tensorboard';
const RUN_NOTEBOOK = 'portal:run-notebook';
const BACK = 'portal:back';
const STOP = 'portal:stop';
const OTHERS = [PANEL, TENSORBOARD_TAB, TENSORBOARD, RUN_NOTEBOOK, BACK, STOP];
/** Used by the File menu of spawner/catalog/lab_config.py. */
export const TERMINAL = 'portal:terminal';

const minutesOf = (args: CommandArgs, acts: Actions): number | undefined =>
  typeof args.minutes === 'number' ? args.minutes : acts.choices[0];

export function addCommands(
  commands: Commands,
  watch: SessionWatch,
  acts: Actions,
  notebooks: NotebookTracker | undefined,
): void {
  const isReady = () => watch.facts !== null;
  commands.addCommand(EXTEND, {
    label: (args) => {
      const minutes = minutesOf(args, acts);
      if (minutes !== undefined) return messages.extend(minutes);
      const reason = watch.facts?.session.extension?.reason;
      return reason ? messages.cantExtend(translate(reason)) : messages.extending;
    },
    isEnabled: () => acts.choices.length > 0,
    isVisible: isReady,
    execute: (args) => {
      const minutes = minutesOf(args, acts);
      return minutes === undefined ? undefined : acts.extend(minutes);
    },
  });
  commands.addCommand(TENSORBOARD, {
    label: messages.tensorboard,
    isVisible: isReady,
    execute: () => acts.tensorboard(),
  });
  commands.addCommand(RUN_NOTEBOOK, {
    label: messages.runNotebook,
    isEnabled: () => Boolean(notebooks?.currentWidget),
    isVisible: isReady,
    execute: () => acts.runNotebook(notebooks?.currentWidget ?? null),
  });
  commands.addCommand(BACK, {
    label: messages.back,
    isVisible: isReady,
    execute: () => acts.back(),
  });
  commands.addCommand(STOP, {
    label: messages.stop,
    isVisible: isReady,
    execute: () => acts.stop(),
  });
  commands.addCommand(TERMINAL, {
    label: ({ title }) => (typeof title === 'string' ? title : ''),
    execute: ({ name }) => commands.execute('terminal:create-new', { name }),
  });
  notebooks?.currentChanged.connect(() => commands.notifyCommandChanged(RUN_NOTEBOOK));
}

/** Add the commands that show something inside JupyterLab. */
export function addTabCommands(
  commands: Commands,
  watch: SessionWatch,
  showPanel: () => void,
  showTensorboard: () => Promise<void>,
): void {
  const isVisible = () => watch.facts !== null;
  commands.addCommand(PANEL, { label: messages.panel, isVisible, execute: showPanel });
  commands.addCommand(TENSORBOARD_TAB, {
    label: messages.tensorboardTab,
    isVisible,
    execute: showTensorboard,
  });
  commands.addKeyBinding({ command: PANEL, keys: PANEL_KEYS, selector: 'body' });
}

export function addToPalette(palette: Palette | undefined): void {
  for (const command of [EXTEND, ...OTHERS])
    palette?.addItem({ command, category: messages.palette });
}

/** Keep a menu's entries in sync with the extensions that are possible. */
export function fillMenu(menu: Menu, commands: Commands, watch: SessionWatch, acts: Actions): void {
  menu.title.label = messages.menu;
  let lastState: string | null = null;
  const fill = () => {
    const { choices } = acts;
    const state = JSON.stringify([choices, watch.facts?.session.extension?.reason]);
    if (state === lastState) return;
    lastState = state;
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
