/** The session's apps in JupyterLab: cards of the launcher, and files in the file browser's menu. */
import { appsForFile, isAlive } from '@/features/apps/forFile';
import { translate, translateExact } from '@/i18n/translate';
import { browserTabs, type Tabs } from './actions';
import type { SessionApp } from './facts';
import type {
  CommandArgs,
  Commands,
  ContextMenu,
  Dialogs,
  FileBrowser,
  InputDialogs,
  Launcher,
  NotificationAction,
  Notifications,
} from './jupyter';
import { messages } from './messages';
import { RequestError } from './server';
import { ASK_EVERY_MS, type SessionWatch } from './watch';

const OPEN = 'portal:app';
const OPEN_AS = 'portal:open-as-app';
const FILES = '.jp-DirListing-item[data-isdir="false"]';
const MENU_RANK = 3;
const POLL_MS = 1000;
const READ_MS = 10_000;
const NOT_HERE = 404;

export interface AppServices {
  watch: SessionWatch;
  /** the session's path, with a final slash */
  baseUrl: string;
  notify: Notifications | undefined;
  dialogs: (Dialogs & InputDialogs) | undefined;
  browser: FileBrowser | undefined;
  tabs?: Tabs;
  sleep?: (ms: number) => Promise<void>;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts apps and opens their pages. */
export class Apps {
  apps: readonly SessionApp[] = [];
  readonly #services: AppServices;
  readonly #tabs: Tabs;
  readonly #sleep: (ms: number) => Promise<void>;
  readonly #starting = new Set<string>();
  /** The session's server has no such list: it was started by an earlier version. */
  #absent = false;

  constructor(services: AppServices) {
    this.#services = services;
    this.#tabs = services.tabs ?? browserTabs;
    this.#sleep = services.sleep ?? pause;
  }

  /** Fetch the apps that the session offers until that succeeds once, and then call back. */
  start(onLoaded: () => void): void {
    const { browser } = this.#services.watch;
    let idle = true;
    const attempt = async (): Promise<void> => {
      if (!idle) return;
      idle = false;
      if (await this.load()) onLoaded();
      else idle = !this.#absent;
    };
    browser.every(ASK_EVERY_MS, () => browser.hidden() || void attempt());
    browser.onShown(() => void attempt());
    void attempt();
  }

  /** Fetch the apps that the session offers; return whether that succeeded. */
  async load(): Promise<boolean> {
    try {
      this.apps = await this.#services.watch.server.apps();
      return true;
    } catch (error) {
      // The last list stays: cards need their titles. The status bar reports a silent session.
      this.#absent = error instanceof RequestError && error.status === NOT_HERE;
      return false;
    }
  }

  find(args: CommandArgs): SessionApp | undefined {
    return this.apps.find(({ name }) => name === args.name);
  }

  /** Return the only selected file of the file browser, if the app opens it. */
  selectedFile(app: SessionApp): string | null {
    const selected = [...(this.#services.browser?.selectedItems() ?? [])];
    const [only] = selected;
    if (selected.length !== 1 || only === undefined || only.type === 'directory') return null;
    return appsForFile([app], only.path).length > 0 ? only.path : null;
  }

  /** Open an app from its card: ask for its file, or for its command on the session's page. */
  async open(app: SessionApp): Promise<void> {
    const now = await this.#latest(app);
    if (now.input === 'command') {
      if (now.state === 'running') this.#show(now);
      else this.#details();
    } else if (now.input === null) {
      await this.#start(now, null);
    } else {
      const file = await this.#askFile(now);
      if (file !== null) await this.openFile(now, file);
    }
  }

  /** Open a file in an app. */
  async openFile(app: SessionApp, file: string): Promise<void> {
    if (this.#starting.has(app.name)) return; // a notification shows that it is starting
    const now = await this.#latest(app);
    const replaced = isAlive(now) && now.file !== file;
    if (replaced && !(await this.#confirmReplacing(now))) return;
    await this.#start(now, file, replaced);
  }

  async #latest(app: SessionApp): Promise<SessionApp> {
    await this.load();
    return this.find({ name: app.name }) ?? app;
  }

  async #askFile(app: SessionApp): Promise<string | null> {
    const { dialogs, browser } = this.#services;
    const folder = browser?.model.path ?? '';
    const answer = await dialogs?.InputDialog.getText({
      title: messages.appFile(titleOf(app)),
      label: messages.appFileLabel(app.extensions.join(', ')),
      text: this.selectedFile(app) ?? app.file ?? (folder === '' ? '' : `${folder}/`),
      okLabel: messages.open,
    });
    return answer?.button.accept && answer.value ? answer.value : null;
  }

  async #confirmReplacing(app: SessionApp): Promise<boolean> {
    const { dialogs } = this.#services;
    const answer = await dialogs?.showDialog({
      title: messages.appReplace(titleOf(app)),
      body: messages.appReplaceMeaning(app.file ?? ''),
      buttons: [
        dialogs.Dialog.cancelButton({ label: messages.keepRunning }),
        dialogs.Dialog.warnButton({ label: messages.appStop }),
      ],
    });
    return answer?.button.accept ?? false;
  }

  /** Start an app, show its progress, and open its page once it is ready. */
  async #start(app: SessionApp, file: string | null, replace = false): Promise<void> {
    if (this.#starting.has(app.name)) return;
    this.#starting.add(app.name);
    const { watch, notify } = this.#services;
    const progress = notify?.info(messages.appStarting(titleOf(app)), { autoClose: false });
    try {
      await watch.server.startApp(app.name, file, replace);
      const shown = await this.#untilStarted(app);
      if (shown.state === 'running') this.#show(shown);
      else this.#showEnd(shown, file);
    } catch (error) {
      this.#showError(app, error instanceof Error ? translate(error.message) : messages.noAnswer);
    } finally {
      this.#starting.delete(app.name);
      notify?.dismiss(progress);
    }
  }

  async #untilStarted(app: SessionApp): Promise<SessionApp> {
    for (;;) {
      const shown = (await this.#services.watch.server.apps()).find(
        ({ name }) => name === app.name,
      );
      if (shown === undefined || shown.state !== 'starting') return shown ?? app;
      await this.#sleep(POLL_MS);
    }
  }

  /** Open its page, or offer to, if the browser permits no tab so long after the click. */
  #show(app: SessionApp): void {
    const url = `${this.#services.baseUrl}app/${app.name}/`;
    if (this.#tabs.attempt(url)) return;
    this.#services.notify?.success(messages.appReady(titleOf(app)), {
      autoClose: false,
      actions: [{ label: messages.open, callback: () => this.#tabs.open(url) }],
    });
  }

  /** Show why it ended before it was ready, and offer to start it again. */
  #showEnd(app: SessionApp, file: string | null): void {
    const again = { label: messages.appAgain, callback: () => void this.#start(app, file) };
    const details = { label: messages.appDetails, callback: () => this.#details() };
    if (app.state === 'stopped') this.#showError(app, messages.appStopped, [again]);
    else {
      const why = translateExact(app.problem ?? messages.noAnswer);
      this.#showError(app, why, [again, details]);
    }
  }

  #showError(app: SessionApp, why: string, actions: NotificationAction[] = []): void {
    const text = messages.appFailed(titleOf(app), why);
    this.#services.notify?.error(text, { autoClose: READ_MS, actions });
  }

  /** Open the session's page, with the output of its apps. */
  #details(): void {
    const page = this.#services.watch.facts?.pages.session;
    if (page !== undefined) this.#tabs.open(`${page}?apps=true`);
  }
}

const titleOf = (app: SessionApp): string => translateExact(app.title);

/** Add the cards and the file browser's items of all apps. */
export function addApps(
  apps: Apps,
  commands: Commands,
  iconOf: (app: SessionApp) => unknown,
  launcher: Launcher | undefined,
  contextMenu: ContextMenu | undefined,
): void {
  const label = (args: CommandArgs) => translateExact(apps.find(args)?.title ?? '');
  const icons = new Map(apps.apps.map((app) => [app.name, iconOf(app)]));
  const icon = (args: CommandArgs) => icons.get(apps.find(args)?.name ?? '');
  commands.addCommand(OPEN, {
    label,
    icon,
    execute: (args) => {
      const app = apps.find(args);
      // no widget: JupyterLab would replace the launcher by it
      return app && apps.open(app);
    },
  });
  commands.addCommand(OPEN_AS, {
    label: (args) => messages.openAs(label(args)),
    icon,
    isVisible: (args) => {
      const app = apps.find(args);
      return app !== undefined && apps.selectedFile(app) !== null;
    },
    execute: (args) => {
      const app = apps.find(args);
      const file = app && apps.selectedFile(app);
      return app && file ? apps.openFile(app, file) : undefined;
    },
  });
  for (const { name, input } of apps.apps) {
    launcher?.add({ command: OPEN, category: messages.apps, args: { name } });
    if (input === 'file')
      contextMenu?.addItem({ command: OPEN_AS, args: { name }, selector: FILES, rank: MENU_RANK });
  }
}
