/**
 * Shows outputs that a page did not receive from the kernel itself: of cells that ran before it was
 * opened, that another tab or browser runs, or whose messages were lost with the connection. The
 * session's server keeps them.
 */
import type { Execution, Executions } from './facts';
import type {
  CellOutput,
  CodeCellModel,
  KernelConnection,
  NotebookActions,
  NotebookPanel,
  NotebookTracker,
} from './jupyter';
import { RequestError, type Server } from './server';

export const SYNC_MS = 1000;
/** Executions that have not ended are requested again after this time, even without a message. */
export const AGAIN_MS = 5000;
const CLEARED_MS = 200;
const NOT_HERE = 404;

type Source = Pick<Server, 'outputs' | 'forgetOutputs'>;

export function followOutputs(
  events: NotebookActions | undefined,
  notebooks: NotebookTracker | undefined,
  server: Source,
): void {
  if (notebooks === undefined) return;
  const followers = new WeakMap<object, OutputFollower>();
  const follow = (panel: NotebookPanel) => {
    const follower = new OutputFollower(panel, server);
    followers.set(panel.content, follower);
    void follower.start();
  };
  notebooks.forEach(follow);
  notebooks.widgetAdded.connect((_, panel) => follow(panel));
  events?.outputCleared.connect((_, { notebook, cell }) =>
    followers.get(notebook)?.forget(cell.model.id),
  );
}

export class OutputFollower {
  #kernelId: string | null = null;
  #since = 0;
  #outputs = new Map<string, CellOutput[]>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueMs = Number.POSITIVE_INFINITY;
  #requesting = false;
  /** Messages about cells that this page runs were lost, so they follow the server. */
  #ownFollowServer = false;
  /** The session's server keeps no outputs: it was started by an earlier version. */
  #absent = false;
  #cleared: string[] = [];

  constructor(
    readonly panel: NotebookPanel,
    readonly server: Source,
  ) {}

  async start(): Promise<void> {
    const { context, sessionContext } = this.panel;
    sessionContext.kernelChanged.connect(() => this.#schedule(0));
    sessionContext.connectionStatusChanged.connect((_, status) => {
      if (status === 'connected') this.#schedule(0);
    });
    sessionContext.iopubMessage.connect((_, message) => {
      const { session } = message.parent_header;
      if (this.#ownFollowServer || session !== this.#kernel?.clientId) this.#schedule(SYNC_MS);
    });
    await Promise.all([context.ready, sessionContext.ready]);
    this.#schedule(0);
  }

  /** Have the server drop the outputs of a cell that the user has cleared. */
  forget(cell: string): void {
    if (this.#cleared.push(cell) > 1) return;
    setTimeout(() => {
      const cells = this.#cleared.splice(0);
      const kernel = this.#kernel;
      if (kernel && !this.#absent)
        this.server.forgetOutputs(kernel.id, cells).catch((error) => this.#fail(error));
    }, CLEARED_MS);
  }

  get #kernel(): KernelConnection | null {
    return this.panel.sessionContext.session?.kernel ?? null;
  }

  /** Ask after this time, unless a request is due before. */
  #schedule(delayMs: number): void {
    const dueMs = performance.now() + delayMs;
    if (dueMs >= this.#dueMs) return;
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => {
      this.#dueMs = Number.POSITIVE_INFINITY;
      void this.#sync();
    }, delayMs);
  }

  async #sync(): Promise<void> {
    const kernel = this.#kernel;
    if (kernel === null || this.#absent || this.panel.isDisposed) return;
    if (this.#requesting) return this.#schedule(SYNC_MS);
    if (kernel.id !== this.#kernelId) {
      this.#kernelId = kernel.id;
      this.#since = 0;
      this.#outputs.clear();
    }
    this.#requesting = true;
    try {
      const answer = await this.server.outputs(kernel.id, kernel.clientId, this.#since);
      if (!this.panel.isDisposed && kernel.id === this.#kernelId) this.#showAll(answer);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#requesting = false;
    }
  }

  #showAll({ version, executions }: Executions): void {
    const known = ({ whole, id }: Execution) => whole || this.#outputs.has(id);
    for (const execution of executions.filter(known)) this.#show(execution);
    this.#since = version;
    if (!executions.every(known)) {
      // this page has the outputs from the file, which have changed since
      this.#since = 0;
      this.#schedule(SYNC_MS);
    } else if (executions.some(({ state }) => state !== 'done')) this.#schedule(AGAIN_MS);
  }

  /** A server without these outputs is not asked again; after other errors, the next message asks. */
  #fail(error: unknown): void {
    if (!(error instanceof RequestError)) throw error;
    this.#absent = error.status === NOT_HERE;
  }

  #show(execution: Execution): void {
    const { content, context } = this.panel;
    const cell = content.widgets.find(({ model }) => model.id === execution.cell);
    if (cell === undefined || cell.model.type !== 'code') return;
    const model = cell.model as CodeCellModel;
    // JupyterLab sets the count after the last message, and may have more than the server keeps
    if (execution.own && !execution.gap && model.executionCount === execution.count) return;
    if (execution.own) {
      this.#ownFollowServer = true;
      cell.outputArea?.future?.dispose();
    }
    const { dirty } = context.model;
    this.#apply(model, execution);
    // The page that runs the cell saves it; a second page that does so would report a conflict.
    if (execution.connected && !dirty) context.model.dirty = false;
  }

  #apply(model: CodeCellModel, execution: Execution): void {
    const before = execution.whole ? [] : (this.#outputs.get(execution.id) ?? []);
    const outputs = [...before];
    for (const [index, output] of execution.outputs) outputs[index] = output;
    outputs.length = execution.length;
    this.#outputs.set(execution.id, outputs);
    if (execution.whole || model.outputs.length !== before.length) replaceAll(model, outputs);
    else applyChanges(model.outputs, execution.outputs);
    // as in JupyterLab, a saved number means that the outputs are complete: the server relies on it
    model.executionCount = execution.state === 'done' ? execution.count : null;
    model.executionState = execution.state === 'done' ? 'idle' : 'running';
  }
}

/** Show outputs of the kernel, which are trusted as those of a cell that the user runs. */
function replaceAll(model: CodeCellModel, outputs: CellOutput[]): void {
  // trust renders what is shown again, and the outputs of the file may not be trusted
  if (!model.trusted) model.outputs.fromJSON([]);
  model.trusted = true;
  model.outputs.fromJSON(outputs);
}

/** Change only what is different, so that the rest is not rendered again. */
function applyChanges(shown: CodeCellModel['outputs'], changes: [number, CellOutput][]): void {
  for (const [index, output] of changes)
    if (index < shown.length) shown.set(index, output);
    else shown.add(output);
}
