import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Execution } from './facts';
import type { CellEvent } from './jupyter';
import { AGAIN_MS, followOutputs, SYNC_MS } from './outputs';
import { RequestError } from './server';
import { codeCell, FakePage, notebookPanel, TestSignal } from './testing';

const stream = (text: string) => ({ output_type: 'stream', name: 'stdout', text });

/** An execution of the cell `a`, which another page requested and runs. */
const execution = (over: Partial<Execution> = {}): Execution => ({
  id: 'e1',
  cell: 'a',
  state: 'running',
  count: 3,
  own: false,
  gap: false,
  connected: false,
  whole: true,
  length: 1,
  outputs: [[0, stream('one')]],
  ...over,
});

async function opened(executions: Execution[], version = 7) {
  const page = new FakePage();
  page.executions = { version, executions };
  const [a, b] = [codeCell('a'), codeCell('b')];
  const panel = notebookPanel({}, 'python3', [a, b]);
  const events = {
    executionScheduled: new TestSignal<CellEvent>(),
    executed: new TestSignal<CellEvent>(),
    outputCleared: new TestSignal<CellEvent>(),
  };
  const notebooks = {
    currentWidget: null,
    currentChanged: new TestSignal<null>(),
    widgetAdded: new TestSignal<typeof panel>(),
    forEach: () => {},
    find: () => undefined,
  };
  followOutputs(events, notebooks, page);
  notebooks.widgetAdded.emit(panel);
  await vi.advanceTimersByTimeAsync(0);
  const message = (session: string) =>
    panel.sessionContext.iopubMessage.emit({ parent_header: { session } });
  return { page, panel, a, b, events, message };
}

describe('a notebook that is opened', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('shows the cells that run, and continues', async () => {
    const { page, a, message } = await opened([execution()]);
    expect(page.requests).toEqual([['k1', 'page', 0]]);
    expect(a.model.outputs.shown).toEqual([stream('one')]);
    expect([a.model.executionState, a.model.executionCount]).toEqual(['running', null]);
    expect(a.model.trusted).toBe(true);

    const changes: Execution['outputs'] = [
      [0, stream('one two')],
      [1, { output_type: 'error' }],
    ];
    const next = execution({ state: 'done', whole: false, length: 2, outputs: changes });
    page.executions = { version: 9, executions: [next] };
    message('another page');
    await vi.advanceTimersByTimeAsync(SYNC_MS);
    expect(page.requests[1]).toEqual(['k1', 'page', 7]);
    expect(a.model.outputs.shown).toEqual([stream('one two'), { output_type: 'error' }]);
    expect(a.model.outputs.replaced).toBe(2);
    expect([a.model.executionState, a.model.executionCount]).toEqual(['idle', 3]);
  });

  it('does not trust outputs of the file', async () => {
    const { page, panel, a } = await opened([]);
    a.model.outputs.add(stream('of the file'));
    const trusted: unknown[] = [];
    Object.defineProperty(a.model, 'trusted', {
      get: () => trusted.length > 0,
      set: () => trusted.push([...a.model.outputs.shown]),
    });
    page.executions = { version: 9, executions: [execution()] };
    panel.sessionContext.connectionStatusChanged.emit('connected');
    await vi.advanceTimersByTimeAsync(0);
    expect(trusted).toEqual([[]]);
    expect(a.model.outputs.shown).toEqual([stream('one')]);
  });

  it('asks again while something runs, and not for its own messages', async () => {
    const { page, message } = await opened([execution()]);
    page.executions = { version: 8, executions: [] };
    await vi.advanceTimersByTimeAsync(AGAIN_MS);
    expect(page.requests).toHaveLength(2);
    message('page');
    await vi.advanceTimersByTimeAsync(10 * AGAIN_MS);
    expect(page.requests).toHaveLength(2);
  });

  it.each([
    [true, false],
    [false, true],
  ])(
    'leaves saving to the page that runs the cell while it is open: %s',
    async (connected, dirty) => {
      const { page, panel, a } = await opened([]);
      const { fromJSON } = a.model.outputs;
      a.model.outputs.fromJSON = (all) => {
        panel.context.model.dirty = true;
        fromJSON(all);
      };
      page.executions = { version: 9, executions: [execution({ connected })] };
      panel.sessionContext.connectionStatusChanged.emit('connected');
      await vi.advanceTimersByTimeAsync(0);
      expect(panel.context.model.dirty).toBe(dirty);
    },
  );

  it('takes over cells of its own whose messages it missed', async () => {
    const { page, a, message } = await opened([execution({ own: true })]);
    expect(a.outputArea.future.disposed).toBe(1);
    message('page');
    await vi.advanceTimersByTimeAsync(SYNC_MS);
    expect(page.requests).toHaveLength(2);
  });

  it.each([
    [false, 3, 'of the page'],
    [false, null, 'one'],
    [true, 3, 'one'],
  ])('keeps its outputs if it has all messages: gap %s, count %s', async (gap, count, text) => {
    const { page, panel, a } = await opened([]);
    a.model.outputs.add(stream('of the page'));
    a.model.executionCount = count;
    page.executions = { version: 9, executions: [execution({ own: true, gap, state: 'done' })] };
    panel.sessionContext.connectionStatusChanged.emit('connected');
    await vi.advanceTimersByTimeAsync(0);
    expect(a.model.outputs.shown).toEqual([stream(text)]);
  });

  it('never shows a part of outputs that it does not have', async () => {
    const { page, a, message } = await opened([]);
    a.model.outputs.add(stream('of the file'));
    const part = execution({ state: 'done', whole: false, length: 2, outputs: [[1, stream('b')]] });
    page.executions = { version: 9, executions: [part] };
    message('another page');
    await vi.advanceTimersByTimeAsync(SYNC_MS);
    expect(a.model.outputs.shown).toEqual([stream('of the file')]);
    page.executions = { version: 9, executions: [] };
    await vi.advanceTimersByTimeAsync(AGAIN_MS);
    expect(page.requests.slice(2)).toEqual([['k1', 'page', 0]]);
  });

  it('reports cleared outputs together', async () => {
    const { page, panel, a, b, events } = await opened([]);
    for (const cell of [a, b]) events.outputCleared.emit({ notebook: panel.content, cell });
    await vi.advanceTimersByTimeAsync(SYNC_MS);
    expect(page.requests.at(-1)).toEqual(['k1', ['a', 'b']]);
  });

  it('does not ask a server without kept outputs again', async () => {
    const { page, message } = await opened([]);
    let asked = 0;
    page.outputs = async () => {
      asked += 1;
      throw new RequestError('Not found', 404);
    };
    message('another page');
    await vi.advanceTimersByTimeAsync(SYNC_MS);
    message('another page');
    await vi.advanceTimersByTimeAsync(SYNC_MS);
    expect(asked).toBe(1);
  });
});
