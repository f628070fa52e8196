/** JupyterLab's commands, and the menu that holds them: in the menu bar, and at the time left. */
import { said } from '@/i18n/said';
import type { Acts } from './acts';
import type { CommandArgs, Commands, Menu, NotebookTracker, Palette } from './jupyter';
import type { Watch } from './watch';
import { words } from './words';

export const EXTEND = 'portal:extend';
const TENSORBOARD = 'portal:tensorboard';
const RUN_NOTEBOOK = 'portal:run-notebook';
const BACK = 'portal:back';
const OTHERS = [TENSORBOARD, RUN_NOTEBOOK, BACK];

const minutesOf = (args: CommandArgs, acts: Acts): number | undefined =>
  typeof args.minutes === 'number' ? args.minutes : acts.choices[0];

export function addCommands(
  commands: Commands,
  watch: Watch,
  acts: Acts,
  notebooks: NotebookTracker | undefined,
): void {
  const known = () => watch.facts !== null;
  commands.addCommand(EXTEND, {
    label: (args) => {
      const minutes = minutesOf(args, acts);
      if (minutes !== undefined) return words.extend(minutes);
      const reason = watch.facts?.session.extension?.reason;
      return reason ? words.cantExtend(said(reason)) : words.extending;
    },
    isEnabled: () => acts.choices.length > 0,
    isVisible: known,
    execute: (args) => {
      const minutes = minutesOf(args, acts);
      return minutes === undefined ? undefined : acts.extend(minutes);
    },
  });
  commands.addCommand(TENSORBOARD, {
    label: words.tensorboard,
    isVisible: known,
    execute: () => acts.tensorboard(),
  });
  commands.addCommand(RUN_NOTEBOOK, {
    label: words.runNotebook,
    isEnabled: () => Boolean(notebooks?.currentWidget),
    isVisible: known,
    execute: () => acts.runNotebook(notebooks?.currentWidget ?? null),
  });
  commands.addCommand(BACK, { label: words.back, isVisible: known, execute: () => acts.back() });
  notebooks?.currentChanged.connect(() => commands.notifyCommandChanged(RUN_NOTEBOOK));
}

export function addToPalette(palette: Palette | undefined): void {
  for (const command of [EXTEND, ...OTHERS]) palette?.addItem({ command, category: words.palette });
}

/** Keeps a menu's entries in step with what can be added; they change seldom. */
export function fillMenu(menu: Menu, commands: Commands, watch: Watch, acts: Acts): void {
  menu.title.label = words.menu;
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
