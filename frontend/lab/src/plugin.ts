/** The plugin: what the session's own server knows of it, shown in JupyterLab. */
import { Actions } from './actions';
import { addCommands, addToPalette, fillMenu } from './commands';
import { connectionLost } from './connection';
import { IdleWarning } from './idle';
import { timeItem, usageItem } from './items';
import type {
  Application,
  MainMenu,
  Menu,
  NotebookTracker,
  Palette,
  Plugin,
  RenderMime,
  Shared,
  StatusBar,
  Translator,
} from './jupyter';
import { chooseLanguage } from './messages';
import css from './portal.css?inline';
import { serverOf } from './server';
import { loadServerMessages } from './serverMessages';
import { addTensorboardOutput } from './tensorboard';
import { browser, Watch } from './watch';

export type Lab = { [Name in keyof Shared]?: Shared[Name] };

interface Services {
  statusBar?: StatusBar;
  mainMenu?: MainMenu;
  palette?: Palette;
  notebooks?: NotebookTracker;
  translator?: Translator;
  rendermime?: RenderMime;
}

const MENU_RANK = 950;
const TIME_RANK = 1001;
const NARROW_PX = 640;

/** Made of what this JupyterLab shares; what another version hasn't got is gone without. */
export function makePlugins(lab: Lab): Plugin[] {
  const found: { watch: Watch | null } = { watch: null };
  const session = sessionPlugin(lab, (watch) => {
    found.watch = watch;
  });
  const connection = connectionPlugin(lab, () => found.watch);
  return connection === null ? [session] : [session, connection];
}

/** In the place of JupyterHub's, whose dialog can only restart servers at the hub. */
function connectionPlugin(lab: Lab, watch: () => Watch | null): Plugin | null {
  const provides = lab['@jupyterlab/application']?.IConnectionLost;
  const dialogs = lab['@jupyterlab/apputils'];
  if (provides === undefined || dialogs === undefined) return null;
  return {
    id: 'data-scientist-portal:connection-lost',
    description: 'What is shown when the session has ended.',
    autoStart: true,
    optional: [],
    provides,
    activate: (app) => {
      const { baseUrl } = app.serviceManager.serverSettings;
      return connectionLost({ dialogs, watch, baseUrl });
    },
  };
}

function sessionPlugin(lab: Lab, onWatch: (watch: Watch) => void): Plugin {
  const tokens: [keyof Services, unknown][] = [
    ['statusBar', lab['@jupyterlab/statusbar']?.IStatusBar],
    ['mainMenu', lab['@jupyterlab/mainmenu']?.IMainMenu],
    ['palette', lab['@jupyterlab/apputils']?.ICommandPalette],
    ['notebooks', lab['@jupyterlab/notebook']?.INotebookTracker],
    ['translator', lab['@jupyterlab/translation']?.ITranslator],
    ['rendermime', lab['@jupyterlab/rendermime']?.IRenderMimeRegistry],
  ];
  const found = tokens.filter(([, token]) => token !== undefined);
  return {
    id: 'data-scientist-portal:session',
    description: 'The time left of the session, what it uses, and the ways back to the portal.',
    autoStart: true,
    optional: found.map(([, token]) => token),
    activate: (app, ...services) => {
      const named = found.map(([name], at) => [name, services[at] ?? undefined]);
      const watch = activate(lab, app, Object.fromEntries(named));
      if (watch !== null) onWatch(watch);
    },
  };
}

function activate(lab: Lab, app: Application, services: Services): Watch | null {
  const connection = lab['@jupyterlab/services']?.ServerConnection;
  const MenuSvg = lab['@jupyterlab/ui-components']?.MenuSvg;
  if (connection === undefined) return null;
  const language = services.translator?.languageCode;
  chooseLanguage(language);
  void loadServerMessages(language);
  const { serverSettings, contents } = app.serviceManager;
  const server = serverOf(connection, serverSettings);
  const watch = new Watch(server, browser);
  const notify = lab['@jupyterlab/apputils']?.Notification;
  const acts = new Actions(watch, notify, contents);
  new IdleWarning(watch, acts, notify);
  addCommands(app.commands, watch, acts, services.notebooks);
  addToPalette(services.palette);
  const newMenu = () => {
    if (MenuSvg === undefined) return undefined;
    const menu = new MenuSvg({ commands: app.commands });
    fillMenu(menu, app.commands, watch, acts);
    return menu;
  };
  addStyles();
  addTensorboardOutput(lab, server, services.rendermime);
  addToMenuBar(watch, services.mainMenu, newMenu());
  addToStatusBar(watch, lab, services.statusBar, newMenu());
  void makeRoom(app, window.innerWidth);
  watch.start();
  return watch;
}

/** A phone's width holds either the file browser or a notebook. */
export async function makeRoom(app: Pick<Application, 'shell' | 'restored'>, width: number) {
  if (width >= NARROW_PX) return;
  await app.restored;
  app.shell?.collapseLeft?.();
}

/** Only after the server has confirmed that this is a session of the portal. */
function addToMenuBar(watch: Watch, mainMenu?: MainMenu, menu?: Menu): void {
  let added = false;
  watch.onChange(() => {
    if (added || watch.facts === null || menu === undefined) return;
    added = true;
    mainMenu?.addMenu(menu, true, { rank: MENU_RANK });
  });
}

function addStyles(): void {
  document.head.appendChild(document.createElement('style')).textContent = css;
}

function addToStatusBar(watch: Watch, lab: Lab, statusBar?: StatusBar, menu?: Menu): void {
  const Widget = lab['@lumino/widgets']?.Widget;
  if (statusBar === undefined || Widget === undefined) return;
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
