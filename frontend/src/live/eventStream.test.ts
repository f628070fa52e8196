import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FakeBrowser, fakeBrowser } from '@/testing/eventSource';
import { type EventStream, openEventStream, SILENCE_MS } from './eventStream';

/** longer than the first delay, and shorter than the silence that counts */
const FIRST_RETRY_MS = 1500;
const SLEEP_MS = 60_000;

let browser: FakeBrowser;
let stream: EventStream;
const received = vi.fn<(data: string) => void>();
const onOpen = vi.fn<() => void>();
const onLost = vi.fn<(cause: string, retryAt: number) => void>();

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  vi.useFakeTimers();
  vi.clearAllMocks();
  browser = fakeBrowser();
  vi.stubGlobal('fetch', async () => Response.json({ username: 'alice' }));
  let connections = 0;
  stream = openEventStream({
    url: () => `/stream?connection=${++connections}`,
    onEvent: { news: received },
    onOpen,
    onLost,
  });
});

afterEach(() => {
  stream.close();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe('an event stream', () => {
  it('passes on the data of its events', () => {
    browser.newest().onopen?.();
    browser.newest().send('news', { id: 1 });
    expect(onOpen).toHaveBeenCalledOnce();
    expect(received).toHaveBeenCalledWith('{"id":1}');
  });

  it('reconnects after an error, to a new address', async () => {
    browser.newest().onerror?.();
    expect(onLost).toHaveBeenCalledWith('failed', expect.any(Number));
    await pass(FIRST_RETRY_MS);
    expect(browser.streams.map(({ url }) => url)).toEqual([
      '/stream?connection=1',
      '/stream?connection=2',
    ]);
    expect(browser.open()).toBe(1);
  });

  it('reconnects after a silence without an error', async () => {
    browser.newest().onopen?.();
    await pass(SILENCE_MS + FIRST_RETRY_MS);
    expect(onLost).toHaveBeenCalledExactlyOnceWith('silent', expect.any(Number));
    expect(browser.streams.map(({ closed }) => closed)).toEqual([true, false]);
  });

  it.each(['ping', 'news'])('is alive while events %s arrive', async (name) => {
    for (let i = 0; i < 4; i++) {
      await pass(SILENCE_MS - 1);
      browser.newest().send(name);
    }
    expect(onLost).not.toHaveBeenCalled();
    expect(browser.streams).toHaveLength(1);
  });

  it('reconnects when the page is shown after a long time, but not after a short one', async () => {
    browser.setHidden(true);
    await pass(1000);
    browser.setHidden(false);
    expect(browser.streams).toHaveLength(1);
    browser.setHidden(true);
    vi.setSystemTime(Date.now() + SLEEP_MS); // a sleeping device runs no timers
    browser.setHidden(false);
    expect(browser.streams).toHaveLength(2);
    expect(browser.open()).toBe(1);
  });

  it('is lost without a network, and has one connection when it is back', async () => {
    browser.emit('offline');
    expect(onLost).toHaveBeenCalledWith('failed', expect.any(Number));
    browser.emit('online');
    await pass(FIRST_RETRY_MS);
    expect(browser.streams).toHaveLength(2);
    expect(browser.open()).toBe(1);
  });

  it('has one connection after a reconnection during the check of the login', async () => {
    let answer: (response: Response) => void = () => {};
    vi.stubGlobal('fetch', () => new Promise((resolve) => (answer = resolve)));
    browser.newest().onerror?.();
    await pass(FIRST_RETRY_MS);
    stream.reopen();
    answer(Response.json({ username: 'alice' }));
    await pass(0);
    expect(browser.open()).toBe(1);
  });

  it('stays closed', async () => {
    stream.close();
    browser.emit('online');
    await pass(SILENCE_MS * 2);
    expect(browser.streams).toHaveLength(1);
    expect(browser.open()).toBe(0);
    expect(onLost).not.toHaveBeenCalled();
  });
});
