/**
 * Saves a notebook when its cells are run and when they are done, so that the session's server finds
 * the cells in the file. JupyterLab itself saves every two minutes.
 */
import type { Notebook, NotebookActions, NotebookPanel, NotebookTracker } from './jupyter';

export const SAVE_DELAY_MS = 500;
/** Saving takes at most one part in this many of the time: a large notebook is saved rarely. */
export const SHARE = 3;

interface Saving {
  waits: boolean;
  running: boolean;
  /** A cell was run or done during the running save, which may lack it. */
  changed: boolean;
  tookMs: number;
  endedMs: number;
  /** The last attempt failed, or the user cancelled JupyterLab's question about a conflict. */
  failed: boolean;
}

export function saveOnRun(
  events: NotebookActions | undefined,
  notebooks: NotebookTracker | undefined,
): void {
  if (events === undefined || notebooks === undefined) return;
  const savings = new WeakMap<NotebookPanel, Saving>();
  const schedule = (notebook: Notebook) => {
    const panel = notebooks.find(({ content }) => content === notebook);
    if (panel === undefined) return;
    const saving = savings.get(panel) ?? newSaving(panel);
    savings.set(panel, saving);
    if (saving.running) saving.changed = true;
    else if (!saving.failed) wait(panel, saving);
  };
  events.executionScheduled.connect((_, { notebook }) => schedule(notebook));
  events.executed.connect((_, { notebook }) => schedule(notebook));
}

function newSaving({ context }: NotebookPanel): Saving {
  const saving = {
    waits: false,
    running: false,
    changed: false,
    tookMs: 0,
    endedMs: 0,
    failed: false,
  };
  context.saveState.connect((_, state) => {
    if (state === 'completed') saving.failed = false;
  });
  return saving;
}

function wait(panel: NotebookPanel, saving: Saving): void {
  if (saving.waits) return;
  saving.waits = true;
  const rest = saving.endedMs + SHARE * saving.tookMs - performance.now();
  setTimeout(() => void save(panel, saving), Math.max(SAVE_DELAY_MS, rest));
}

async function save(panel: NotebookPanel, saving: Saving): Promise<void> {
  saving.waits = false;
  const { context } = panel;
  if (panel.isDisposed || !context.canSave || context.model.readOnly || !context.model.dirty)
    return;
  const begin = performance.now();
  saving.running = true;
  saving.changed = false;
  try {
    await context.save();
  } catch {
    saving.failed = true; // JupyterLab has shown why
  }
  saving.endedMs = performance.now();
  saving.tookMs = saving.endedMs - begin;
  saving.running = false;
  if (!saving.changed || panel.isDisposed) return;
  context.model.dirty = true; // JupyterLab considers changes during a save as saved
  if (!saving.failed) wait(panel, saving);
}
