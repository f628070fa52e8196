/**
 * The part of JupyterLab 4's documented interfaces that is used here. Written by hand, because its
 * packages would add 300 dependencies for one page of types.
 */

export interface Signal<T> {
  connect(slot: (sender: unknown, args: T) => void): boolean;
}

export interface Widget {
  readonly node: HTMLElement;
  readonly isVisible: boolean;
}

/** A widget with a tab, in a side area or among the notebooks. */
export interface TabWidget extends Widget {
  id: string;
  readonly title: { label: string; caption: string; closable: boolean; icon: unknown };
  readonly isDisposed: boolean;
}

export type Area = 'main' | 'right';

export interface Shell {
  add(widget: TabWidget, area: Area, options?: { rank: number }): void;
  activateById(id: string): void;
  collapseLeft?: () => void;
}

export interface Commands {
  addCommand(
    id: string,
    options: {
      label: string | ((args: CommandArgs) => string);
      icon?: unknown;
      isEnabled?: (args: CommandArgs) => boolean;
      isVisible?: (args: CommandArgs) => boolean;
      execute: (args: CommandArgs) => unknown;
    },
  ): unknown;
  execute(id: string, args?: CommandArgs): Promise<unknown>;
  notifyCommandChanged(id?: string): void;
  addKeyBinding(options: { command: string; keys: string[]; selector: string }): unknown;
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

export interface Contents {
  driveName(path: string): string;
  localPath(path: string): string;
  get(path: string, options: { content: false }): Promise<unknown>;
}

export interface Application {
  /** Only JupyterLab's own shell has side panes. */
  readonly shell: Shell;
  readonly restored: Promise<unknown>;
  readonly commands: Commands;
  readonly contextMenu: ContextMenu;
  readonly serviceManager: {
    readonly serverSettings: ServerSettings;
    readonly contents: Contents;
  };
}

export interface KernelConnection {
  readonly id: string;
  readonly name: string;
  /** The id of this page's connection, which each message of its requests names. */
  readonly clientId: string;
}

export interface KernelMessage {
  readonly parent_header: { readonly session?: string };
}

export interface SessionContext {
  readonly kernelPreference: { readonly name?: string | null };
  readonly session: { readonly kernel: KernelConnection | null } | null;
  readonly ready: Promise<void>;
  readonly kernelChanged: Signal<unknown>;
  readonly connectionStatusChanged: Signal<string>;
  readonly iopubMessage: Signal<KernelMessage>;
}

/** An output in the notebook format. */
export type CellOutput = Readonly<Record<string, unknown>>;

export interface CellModel {
  readonly id: string;
  readonly type: string;
  trusted: boolean;
}

export interface CodeCellModel extends CellModel {
  executionCount: number | null;
  executionState: 'idle' | 'running';
  readonly outputs: {
    readonly length: number;
    add(output: CellOutput): unknown;
    set(index: number, output: CellOutput): void;
    fromJSON(outputs: CellOutput[]): void;
  };
}

export interface Cell {
  readonly model: CellModel;
  /** The messages of a cell's execution that this page awaits. */
  readonly outputArea?: { readonly future?: { dispose(): void } | null };
}

export interface Notebook {
  readonly widgets: readonly Cell[];
}

export interface NotebookPanel {
  readonly content: Notebook;
  readonly isDisposed: boolean;
  readonly sessionContext: SessionContext;
  readonly context: {
    readonly path: string;
    readonly canSave: boolean;
    readonly ready: Promise<void>;
    readonly model: { dirty: boolean; readonly readOnly: boolean };
    readonly saveState: Signal<string>;
    save(): Promise<void>;
  };
}

export interface NotebookTracker {
  readonly currentWidget: NotebookPanel | null;
  readonly currentChanged: Signal<NotebookPanel | null>;
  readonly widgetAdded: Signal<NotebookPanel>;
  forEach(visit: (panel: NotebookPanel) => void): void;
  find(test: (panel: NotebookPanel) => boolean): NotebookPanel | undefined;
}

export interface CellEvent {
  readonly notebook: Notebook;
  readonly cell: Cell;
}

/** Signals about the user's actions on cells, in any notebook. */
export interface NotebookActions {
  readonly executionScheduled: Signal<CellEvent>;
  readonly executed: Signal<CellEvent>;
  readonly outputCleared: Signal<CellEvent>;
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
  /** JupyterLab's display language: "en", "zh-CN" or "zh_CN". */
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

export interface Launcher {
  add(item: { command: string; category: string; args?: CommandArgs; rank?: number }): unknown;
}

/** The file browser at the left. */
export interface FileBrowser {
  selectedItems(): Iterable<{ readonly path: string; readonly type: string }>;
  readonly model: { readonly path: string };
}

export interface ContextMenu {
  addItem(item: { command: string; args?: CommandArgs; selector: string; rank?: number }): unknown;
}

export interface NotificationAction {
  label: string;
  callback: () => void;
}

interface NotificationOptions {
  autoClose?: number | false;
  actions?: NotificationAction[];
}

export interface Notifications {
  warning(text: string, options?: NotificationOptions): string;
  error(text: string, options?: NotificationOptions): string;
  success(text: string, options?: NotificationOptions): string;
  info(text: string, options?: NotificationOptions): string;
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
    warnButton(options: { label: string }): DialogButton;
  };
}

/** Dialogs that ask for a text. */
export interface InputDialogs {
  InputDialog: {
    getText(options: {
      title: string;
      label: string;
      text: string;
      okLabel: string;
    }): Promise<{ button: DialogButton; value: string | null }>;
  };
}

/** The packages that JupyterLab shares, by package name. */
export interface Shared {
  '@jupyterlab/application': { IConnectionLost: unknown };
  '@jupyterlab/apputils': Dialogs &
    InputDialogs & { ICommandPalette: unknown; Notification: Notifications };
  '@jupyterlab/filebrowser': { IDefaultFileBrowser: unknown };
  '@jupyterlab/launcher': { ILauncher: unknown };
  '@jupyterlab/mainmenu': { IMainMenu: unknown };
  '@jupyterlab/notebook': { INotebookTracker: unknown; NotebookActions: NotebookActions };
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
    LabIcon: new (options: { name: string; svgstr: string }) => unknown;
  };
  '@lumino/widgets': { Widget: new (options: { node: HTMLElement }) => TabWidget };
}

export interface Plugin {
  id: string;
  description: string;
  autoStart: boolean;
  optional: unknown[];
  provides?: unknown;
  activate: (app: Application, ...services: never[]) => unknown;
}
