import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CellEvent, NotebookPanel } from './jupyter';
import { SAVE_DELAY_MS, SHARE, saveOnRun } from './saving';
import { codeCell, notebookPanel, TestSignal } from './testing';

const events = () => ({
  executionScheduled: new TestSignal<CellEvent>(),
  executed: new TestSignal<CellEvent>(),
  outputCleared: new TestSignal<CellEvent>(),
});

/** A notebook that is changed and saved; `saving` is what saving does. */
function opened(saving: () => Promise<void> = async () => {}) {
  const model = { dirty: true, readOnly: false };
  const calls: number[] = [];
  const save = async () => {
    calls.push(performance.now());
    await saving();
  };
  const panel = notebookPanel({ model, save });
  const actions = events();
  const find = (test: (panel: NotebookPanel) => boolean) => [panel].find(test);
  saveOnRun(actions, {
    currentWidget: null,
    currentChanged: new TestSignal(),
    widgetAdded: new TestSignal(),
    forEach: () => {},
    find,
  });
  const run = () =>
    actions.executionScheduled.emit({ notebook: panel.content, cell: codeCell('a') });
  return { panel, model, calls, run, actions };
}

describe('running a cell', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('saves a changed notebook, once for many cells', async () => {
    const { calls, run, model } = opened();
    run();
    run();
    await vi.advanceTimersByTimeAsync(SAVE_DELAY_MS);
    expect(calls).toHaveLength(1);
    model.dirty = false;
    run();
    await vi.advanceTimersByTimeAsync(10 * SAVE_DELAY_MS);
    expect(calls).toHaveLength(1);
  });

  it('saves again when the cell is done', async () => {
    const { calls, actions, panel } = opened();
    actions.executed.emit({ notebook: panel.content, cell: codeCell('a') });
    await vi.advanceTimersByTimeAsync(SAVE_DELAY_MS);
    expect(calls).toHaveLength(1);
  });

  it('saves again if a cell is done during a save', async () => {
    const tookMs = 100;
    const { calls, run, actions, panel, model } = opened(async () => {
      await new Promise((done) => setTimeout(done, tookMs));
      model.dirty = false;
    });
    run();
    await vi.advanceTimersByTimeAsync(SAVE_DELAY_MS);
    actions.executed.emit({ notebook: panel.content, cell: codeCell('a') });
    await vi.advanceTimersByTimeAsync(tookMs);
    expect(model.dirty).toBe(true);
    await vi.advanceTimersByTimeAsync(10 * SAVE_DELAY_MS);
    expect(calls).toHaveLength(2);
  });

  it('saves a notebook rarely that takes long', async () => {
    const tookMs = 5000;
    const { calls, run } = opened(() => new Promise((done) => setTimeout(done, tookMs)));
    run();
    await vi.advanceTimersByTimeAsync(SAVE_DELAY_MS + tookMs);
    run();
    await vi.advanceTimersByTimeAsync(SHARE * tookMs - 1);
    expect(calls).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(calls).toHaveLength(2);
  });

  it('stops after a failure, until the user has saved', async () => {
    const { calls, run, panel } = opened(() => Promise.reject(new Error('Cancel')));
    run();
    await vi.advanceTimersByTimeAsync(SAVE_DELAY_MS);
    run();
    await vi.advanceTimersByTimeAsync(SAVE_DELAY_MS);
    expect(calls).toHaveLength(1);
    panel.context.saveState.emit('completed');
    run();
    await vi.advanceTimersByTimeAsync(SAVE_DELAY_MS);
    expect(calls).toHaveLength(2);
  });
});
