/** The plugin: shows the server's data about the session in JupyterLab. */
import { Actions } from './actions';
import { Apps, addApps } from './apps';
import { addCommands, addTabCommands, addToPalette, fillMenu } from './commands';
import { connectionLost } from './connection';
import type { SessionApp } from './facts';
import { makeAppIcon, makeIcon } from './icon';
import { IdleWarning } from './idle';
import { timeItem, usageItem } from './items';
import { JobActions } from './jobActions';
import { JobWatch } from './jobs';
import type {
  Application,
  FileBrowser,
  Launcher,
  MainMenu,
  Menu,
  NotebookTracker,
  Palette,
  Plugin,
  RenderMime,
  Shared,
  Shell,
  StatusBar,
  Translator,
} from './jupyter';
import { chooseLanguage, messages } from './messages';
import { followOutputs } from './outputs';
import { fillPanel, JobsSection } from './panel';
import css from './portal.css?inline';
import { saveOnRun } from './saving';
import { createServer } from './server';
import { loadServerMessages } from './serverMessages';
import { addTensorboardOutput, tensorboardTab } from './tensorboard';
import { browser, SessionWatch } from './watch';

export type Lab = { [Name in keyof Shared]?: Shared[Name] };

interface Services {
  statusBar?: StatusBar;
  mainMenu?: MainMenu;
  palette?: Palette;
  notebooks?: NotebookTracker;
  translator?: Translator;
  rendermime?: RenderMime;
  launcher?: Launcher;
  browser?: FileBrowser;
}

const MENU_RANK = 950;
const TIME_RANK = 1001;
const NARROW_PX = 640;
const PANEL_ID = 'portal-panel';
const PANEL_RANK = 900;

/** Create the plugins from the services that this JupyterLab version provides; the others are
 * omitted. */
export function makePlugins(lab: Lab): Plugin[] {
  const holder: { watch: SessionWatch | null } = { watch: null };
  const session = sessionPlugin(lab, (watch) => {
    holder.watch = watch;
  });
  const connection = connectionPlugin(lab, () => holder.watch);
  return connection === null ? [session] : [session, connection];
}

/** Replace JupyterHub's plugin, whose dialog can only restart servers at the hub. */
function connectionPlugin(lab: Lab, watch: () => SessionWatch | null): Plugin | null {
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

function sessionPlugin(lab: Lab, onWatch: (watch: SessionWatch) => void): Plugin {
  const tokens: [keyof Services, unknown][] = [
    ['statusBar', lab['@jupyterlab/statusbar']?.IStatusBar],
    ['mainMenu', lab['@jupyterlab/mainmenu']?.IMainMenu],
    ['palette', lab['@jupyterlab/apputils']?.ICommandPalette],
    ['notebooks', lab['@jupyterlab/notebook']?.INotebookTracker],
    ['translator', lab['@jupyterlab/translation']?.ITranslator],
    ['rendermime', lab['@jupyterlab/rendermime']?.IRenderMimeRegistry],
    ['launcher', lab['@jupyterlab/launcher']?.ILauncher],
    ['browser', lab['@jupyterlab/filebrowser']?.IDefaultFileBrowser],
  ];
  const available = tokens.filter(([, token]) => token !== undefined);
  return {
    id: 'data-scientist-portal:session',
    description: 'The time left of the session, its usage, your jobs, and links to the portal.',
    autoStart: true,
    optional: available.map(([, token]) => token),
    activate: (app, ...services) => {
      const named = available.map(([name], index) => [name, services[index] ?? undefined]);
      const watch = activate(lab, app, Object.fromEntries(named));
      if (watch !== null) onWatch(watch);
    },
  };
}

function activate(lab: Lab, app: Application, services: Services): SessionWatch | null {
  const connection = lab['@jupyterlab/services']?.ServerConnection;
  const MenuSvg = lab['@jupyterlab/ui-components']?.MenuSvg;
  if (connection === undefined) return null;
  const language = services.translator?.languageCode;
  chooseLanguage(language);
  void loadServerMessages(language);
  const { serverSettings, contents } = app.serviceManager;
  const server = createServer(connection, serverSettings);
  const watch = new SessionWatch(server, browser);
  const notify = lab['@jupyterlab/apputils']?.Notification;
  const acts = new Actions(watch, notify, contents);
  new IdleWarning(watch, acts, notify);
  addCommands(app.commands, watch, acts, services.notebooks);
  addTabs(lab, app, watch);
  addLaunchers(lab, app, watch, services);
  addToPalette(services.palette);
  const newMenu = () => {
    if (MenuSvg === undefined) return undefined;
    const menu = new MenuSvg({ commands: app.commands });
    fillMenu(menu, app.commands, watch, acts);
    return menu;
  };
  addStyles();
  addTensorboardOutput(lab, server, services.rendermime);
  const events = lab['@jupyterlab/notebook']?.NotebookActions;
  saveOnRun(events, services.notebooks);
  followOutputs(events, services.notebooks, server);
  addToMenuBar(watch, services.mainMenu, newMenu());
  addToStatusBar(watch, lab, services.statusBar, newMenu());
  void makeRoom(app, window.innerWidth);
  watch.start();
  return watch;
}

/** Add the panel and TensorBoard's tab, once the server has confirmed that this is a session. */
function addTabs(lab: Lab, app: Application, watch: SessionWatch): void {
  const Widget = lab['@lumino/widgets']?.Widget;
  if (Widget === undefined) return;
  const { commands, shell, serviceManager } = app;
  const apputils = lab['@jupyterlab/apputils'];
  const ui = lab['@jupyterlab/ui-components'];
  const jobs = new JobWatch(watch.server, watch.browser);
  const panel = new Widget({ node: document.createElement('div') });
  panel.id = PANEL_ID;
  Object.assign(panel.title, { caption: messages.panel, icon: makeIcon(ui, 'panel') });
  const showPanel = (jobId?: string) => {
    shell.activateById(PANEL_ID);
    if (jobId === undefined) panel.node.focus();
    else section.showLog(jobId);
  };
  const acts = new JobActions({
    jobs,
    notify: apputils?.Notification,
    dialogs: apputils,
    contents: serviceManager.contents,
    commands,
    showPanel,
  });
  const section = new JobsSection(jobs, acts);
  fillPanel(panel, watch, section);
  const tab = tensorboardTab(Widget, watch.server, shell, makeIcon(ui, 'tensorboard'));
  addTabCommands(commands, watch, () => showPanel(), tab);
  onFirstFacts(watch, () => {
    shell.add(panel, 'right', { rank: PANEL_RANK });
    jobs.start();
  });
}

/** Add the session's apps to the launcher and the file browser. */
function addLaunchers(lab: Lab, app: Application, watch: SessionWatch, services: Services): void {
  const dialogs = lab['@jupyterlab/apputils'];
  const { baseUrl } = app.serviceManager.serverSettings;
  const { launcher, browser } = services;
  const notify = dialogs?.Notification;
  const apps = new Apps({ watch, baseUrl, notify, dialogs, browser });
  const iconOf = (one: SessionApp) => makeAppIcon(lab['@jupyterlab/ui-components'], one);
  onFirstFacts(watch, () =>
    apps.start(() => addApps(apps, app.commands, iconOf, launcher, app.contextMenu)),
  );
}

/** Call back once, when the server has confirmed that this is a session of the portal. */
function onFirstFacts(watch: SessionWatch, callback: () => void): void {
  let done = false;
  watch.onChange(() => {
    if (done || watch.facts === null) return;
    done = true;
    callback();
  });
}

/** Collapse the file browser on a phone, whose width holds either it or a notebook. */
export async function makeRoom(
  app: { shell?: Pick<Shell, 'collapseLeft'>; restored: Promise<unknown> },
  width: number,
) {
  if (width >= NARROW_PX) return;
  await app.restored;
  app.shell?.collapseLeft?.();
}

function addToMenuBar(watch: SessionWatch, mainMenu?: MainMenu, menu?: Menu): void {
  onFirstFacts(watch, () => {
    if (menu !== undefined) mainMenu?.addMenu(menu, true, { rank: MENU_RANK });
  });
}

function addStyles(): void {
  document.head.appendChild(document.createElement('style')).textContent = css;
}

function addToStatusBar(watch: SessionWatch, lab: Lab, statusBar?: StatusBar, menu?: Menu): void {
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
