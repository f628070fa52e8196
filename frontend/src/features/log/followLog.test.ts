import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '@/api/problem';
import type { LogPiece } from '@/api/types';
import { SILENCE_MS } from '@/live/eventStream';
import { type FakeBrowser, fakeBrowser } from '@/testing/eventSource';
import { plainText } from './doc';
import { followLog, LOADING, type LogState } from './followLog';
import { readLog } from './source';

vi.mock('./source', async (original) => ({
  ...(await original<typeof import('./source')>()),
  readLog: vi.fn(),
}));

const FIRST_RETRY_MS = 1500;

const piece = (text: string, offset: number, end = false): LogPiece => ({
  text,
  offset,
  next_offset: offset + text.length,
  size: offset + text.length,
  end,
});

let browser: FakeBrowser;
let log: LogState;
let stop: () => void = () => {};

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const offsets = () =>
  browser.streams.map(({ url }) => new URLSearchParams(url.split('?')[1]).get('offset'));

async function follow(first: LogPiece | Error): Promise<void> {
  if (first instanceof Error) vi.mocked(readLog).mockRejectedValueOnce(first);
  else vi.mocked(readLog).mockResolvedValueOnce(first);
  log = LOADING;
  stop = followLog({ kind: 'jobs', id: 'j' }, 'stdout', (change) => {
    log = change(log);
  });
  await pass(0);
}

beforeEach(() => {
  vi.useFakeTimers();
  browser = fakeBrowser();
  vi.stubGlobal('fetch', async () => Response.json({ username: 'alice' }));
});

afterEach(() => {
  stop();
  vi.mocked(readLog).mockReset();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe('followLog', () => {
  it('appends what arrives, and stops at the end', async () => {
    await follow(piece('one\n', 0));
    browser.newest().send('log', piece('two\n', 4, true));
    expect(plainText(log.doc)).toBe('one\ntwo\n');
    expect(log.state).toBe('complete');
    expect(browser.open()).toBe(0);
  });

  it('needs no stream for a log that is complete', async () => {
    await follow(piece('all\n', 0, true));
    expect(log.state).toBe('complete');
    expect(browser.streams).toHaveLength(0);
  });

  it('reopens a connection that hangs, where it left off, without reporting a loss', async () => {
    await follow(piece('one\n', 0));
    browser.newest().send('log', piece('two\n', 4));
    await pass(SILENCE_MS);
    expect(log.state).toBe('following');
    await pass(FIRST_RETRY_MS);
    expect(offsets()).toEqual(['4', '8']);
    browser.newest().send('log', piece('three\n', 8));
    expect(plainText(log.doc)).toBe('one\ntwo\nthree\n');
  });

  it('reports a broken connection until it is open again', async () => {
    await follow(piece('one\n', 0));
    browser.newest().onerror?.();
    expect(log.state).toBe('broken');
    await pass(FIRST_RETRY_MS);
    browser.newest().onopen?.();
    expect(log.state).toBe('following');
  });

  it('drops the text before a gap', async () => {
    await follow(piece('one\n', 0));
    browser.newest().send('log', piece('late\n', 9000));
    expect(plainText(log.doc)).toBe('late\n');
    expect(log.bytesBefore).toBe(9000);
  });

  it('tries again when the portal does not respond, but not after a refusal', async () => {
    await follow(new Error('network'));
    expect(log.state).toBe('broken');
    vi.mocked(readLog).mockResolvedValueOnce(piece('one\n', 0));
    await pass(FIRST_RETRY_MS);
    expect(log.state).toBe('following');
    stop();
    await follow(new ApiError(404, 'not-found', 'There is no such job.'));
    await pass(SILENCE_MS);
    expect(log.error).toBe('There is no such job.');
    expect(log.state).toBe('refused');
    expect(readLog).toHaveBeenCalledTimes(3);
  });

  it('stops', async () => {
    await follow(piece('one\n', 0));
    stop();
    await pass(SILENCE_MS * 2);
    expect(browser.streams).toHaveLength(1);
    expect(browser.open()).toBe(0);
  });
});
