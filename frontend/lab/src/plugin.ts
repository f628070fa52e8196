/** The plugin: what the session's own server knows of it, shown in JupyterLab. */
import { Acts } from './acts';
import { addCommands, addToPalette, fillMenu } from './commands';
import { IdleWarning } from './idle';
import { timeItem, usageItem } from './items';
import type {
  Application,
  MainMenu,
  Menu,
  NotebookTracker,
  Palette,
  Plugin,
  Shared,
  StatusBar,
  Translator,
} from './jupyter';
import css from './portal.css?inline';
import { learnPortalWords } from './portalWords';
import { serverOf } from './server';
import { browser, Watch } from './watch';
import { speak } from './words';

export type Lab = { [Name in keyof Shared]?: Shared[Name] };

interface Services {
  statusBar?: StatusBar;
  mainMenu?: MainMenu;
  palette?: Palette;
  notebooks?: NotebookTracker;
  translator?: Translator;
}

const MENU_RANK = 950;
const TIME_RANK = 1001;

/** Made of what this JupyterLab shares; what another version hasn't got is gone without. */
export function makePlugin(lab: Lab): Plugin {
  const tokens: [keyof Services, unknown][] = [
    ['statusBar', lab['@jupyterlab/statusbar']?.IStatusBar],
    ['mainMenu', lab['@jupyterlab/mainmenu']?.IMainMenu],
    ['palette', lab['@jupyterlab/apputils']?.ICommandPalette],
    ['notebooks', lab['@jupyterlab/notebook']?.INotebookTracker],
    ['translator', lab['@jupyterlab/translation']?.ITranslator],
  ];
  const found = tokens.filter(([, token]) => token !== undefined);
  return {
    id: 'data-scientist-portal:session',
    description: 'The time left of the session, what it uses, and the ways back to the portal.',
    autoStart: true,
    optional: found.map(([, token]) => token),
    activate: (app, ...services) => {
      const named = found.map(([name], at) => [name, services[at] ?? undefined]);
      activate(lab, app, Object.fromEntries(named));
    },
  };
}

function activate(lab: Lab, app: Application, services: Services): void {
  const connection = lab['@jupyterlab/services']?.ServerConnection;
  const MenuSvg = lab['@jupyterlab/ui-components']?.MenuSvg;
  if (connection === undefined) return;
  const language = services.translator?.languageCode;
  speak(language);
  void learnPortalWords(language);
  const { serverSettings, contents } = app.serviceManager;
  const watch = new Watch(serverOf(connection, serverSettings), browser);
  const notify = lab['@jupyterlab/apputils']?.Notification;
  const acts = new Acts(watch, notify, contents);
  new IdleWarning(watch, acts, notify);
  addCommands(app.commands, watch, acts, services.notebooks);
  addToPalette(services.palette);
  const newMenu = () => {
    if (MenuSvg === undefined) return undefined;
    const menu = new MenuSvg({ commands: app.commands });
    fillMenu(menu, app.commands, watch, acts);
    return menu;
  };
  addToMenuBar(watch, services.mainMenu, newMenu());
  addToStatusBar(watch, lab, services.statusBar, newMenu());
  watch.start();
}

/** Only once the server has said that it is a session of the portal's. */
function addToMenuBar(watch: Watch, mainMenu?: MainMenu, menu?: Menu): void {
  let added = false;
  watch.onChange(() => {
    if (added || watch.facts === null || menu === undefined) return;
    added = true;
    mainMenu?.addMenu(menu, true, { rank: MENU_RANK });
  });
}

function addToStatusBar(watch: Watch, lab: Lab, statusBar?: StatusBar, menu?: Menu): void {
  const Widget = lab['@lumino/widgets']?.Widget;
  if (statusBar === undefined || Widget === undefined) return;
  document.head.appendChild(document.createElement('style')).textContent = css;
  const time = timeItem(watch, (button) => {
    const { left, top } = button.getBoundingClientRect();
    menu?.open(left, top);
  });
  menu?.aboutToClose.connect(() => time.focus());
  const register = (id: string, node: HTMLElement, rank: number, priority: number) =>
    statusBar.registerStatusItem(id, {
      item: new Widget({ node }),
      align: 'right',
      rank,
      priority,
    });
  register('data-scientist-portal:time', time, TIME_RANK, 2);
  register('data-scientist-portal:use', usageItem(watch), TIME_RANK - 1, 0);
}
