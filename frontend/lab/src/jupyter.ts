/**
 * As much of JupyterLab 4 as is used here, by its documented interfaces. Written down instead of
 * taken from its packages: they would be 300 packages for a page of types.
 */

export interface Signal<T> {
  connect(slot: (sender: unknown, args: T) => void): boolean;
}

export interface Widget {
  readonly node: HTMLElement;
  readonly isVisible: boolean;
}

export interface Commands {
  addCommand(
    id: string,
    options: {
      label: string | ((args: CommandArgs) => string);
      isEnabled?: (args: CommandArgs) => boolean;
      isVisible?: (args: CommandArgs) => boolean;
      execute: (args: CommandArgs) => unknown;
    },
  ): unknown;
  execute(id: string, args?: CommandArgs): Promise<unknown>;
  notifyCommandChanged(id?: string): void;
}

export type CommandArgs = Readonly<Record<string, unknown>>;

export interface Menu {
  readonly title: { label: string };
  readonly aboutToClose: Signal<void>;
  addItem(item: { command?: string; args?: CommandArgs; type?: 'command' | 'separator' }): unknown;
  clearItems(): void;
  open(x: number, y: number): void;
}

export interface ServerSettings {
  readonly baseUrl: string;
}

export interface Application {
  /** JupyterLab's own has panes at its sides; other shells have none */
  readonly shell?: { collapseLeft?: () => void };
  readonly restored: Promise<unknown>;
  readonly commands: Commands;
  readonly serviceManager: {
    readonly serverSettings: ServerSettings;
    readonly contents: { driveName(path: string): string; localPath(path: string): string };
  };
}

export interface NotebookPanel {
  readonly sessionContext: { readonly kernelPreference: { readonly name?: string | null } } & {
    readonly session: { readonly kernel: { readonly name: string } | null } | null;
  };
  readonly context: {
    readonly path: string;
    readonly model: { readonly dirty: boolean };
    save(): Promise<void>;
  };
}

export interface NotebookTracker {
  readonly currentWidget: NotebookPanel | null;
  readonly currentChanged: Signal<NotebookPanel | null>;
}

/** An output of a cell. */
export interface MimeModel {
  readonly data: Readonly<Record<string, unknown>>;
}

export interface RenderMime {
  addFactory(
    factory: {
      /** rendered only in a notebook that its user trusts */
      readonly safe: boolean;
      readonly mimeTypes: readonly string[];
      createRenderer(): Widget & { renderModel(model: MimeModel): Promise<void> };
    },
    rank: number,
  ): void;
}

export interface Translator {
  /** "en", "zh-CN" or "zh_CN": what JupyterLab is shown in. */
  readonly languageCode?: string;
}

export interface StatusBar {
  registerStatusItem(
    id: string,
    options: { item: Widget; align: 'left' | 'middle' | 'right'; rank: number; priority?: number },
  ): unknown;
}

export interface MainMenu {
  addMenu(menu: Menu, update: boolean, options: { rank: number }): void;
}

export interface Palette {
  addItem(item: { command: string; category: string; args?: CommandArgs }): unknown;
}

interface NotificationOptions {
  autoClose?: number | false;
  actions?: { label: string; callback: () => void }[];
}

export interface Notifications {
  warning(text: string, options?: NotificationOptions): string;
  error(text: string, options?: NotificationOptions): string;
  success(text: string, options?: NotificationOptions): string;
  dismiss(id?: string): void;
}

interface DialogButton {
  readonly accept: boolean;
}

export interface Dialogs {
  showDialog(options: {
    title: string;
    body: string;
    buttons: DialogButton[];
  }): Promise<{ button: DialogButton }>;
  Dialog: {
    okButton(options: { label: string }): DialogButton;
    cancelButton(options: { label: string }): DialogButton;
  };
}

/** The packages that JupyterLab shares, by the name under which it does. */
export interface Shared {
  '@jupyterlab/application': { IConnectionLost: unknown };
  '@jupyterlab/apputils': Dialogs & { ICommandPalette: unknown; Notification: Notifications };
  '@jupyterlab/mainmenu': { IMainMenu: unknown };
  '@jupyterlab/notebook': { INotebookTracker: unknown };
  '@jupyterlab/rendermime': { IRenderMimeRegistry: unknown };
  '@jupyterlab/services': {
    ServerConnection: {
      makeRequest(url: string, init: RequestInit, settings: ServerSettings): Promise<Response>;
    };
  };
  '@jupyterlab/statusbar': { IStatusBar: unknown };
  '@jupyterlab/translation': { ITranslator: unknown };
  '@jupyterlab/ui-components': {
    MenuSvg: new (options: { commands: Commands }) => Menu;
  };
  '@lumino/widgets': { Widget: new (options: { node: HTMLElement }) => Widget };
}

export interface Plugin {
  id: string;
  description: string;
  autoStart: boolean;
  optional: unknown[];
  provides?: unknown;
  activate: (app: Application, ...services: never[]) => unknown;
}
