import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sendChunk } from './send';

/** A connection controlled by the test. */
class Played {
  static last: Played;
  upload: { onprogress?: (event: { loaded: number }) => void } = {};
  onload?: () => void;
  onabort?: () => void;
  onloadend?: () => void;
  status = 0;
  responseText = '';
  open = vi.fn();
  setRequestHeader = vi.fn();
  send = vi.fn();
  aborted = 0;

  constructor() {
    Played.last = this;
  }

  abort(): void {
    this.aborted += 1;
    this.onabort?.();
    this.onloadend?.();
  }

  answers(status: number, body: unknown): void {
    this.status = status;
    this.responseText = JSON.stringify(body);
    this.onload?.();
    this.onloadend?.();
  }
}

describe('a chunk', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal('window', globalThis);
    vi.stubGlobal('XMLHttpRequest', Played);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it('reports where the next one begins', async () => {
    const progress: number[] = [];
    const { answer } = sendChunk('u 1', 8, new Blob(['x']), (sent) => progress.push(sent));
    expect(Played.last.open).toHaveBeenCalledWith('PUT', '/api/v1/files/uploads/u%201?offset=8');
    Played.last.upload.onprogress?.({ loaded: 1 });
    Played.last.answers(200, { offset: 9 });
    expect(await answer).toBe(9);
    expect(progress).toEqual([1]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is lost when it stalls, but not when it is slow', async () => {
    const { answer } = sendChunk('u1', 0, new Blob(['xx']), () => undefined);
    const lost = expect(answer).rejects.toMatchObject({ status: 0, slug: 'offline' });
    vi.advanceTimersByTime(59_000);
    Played.last.upload.onprogress?.({ loaded: 1 });
    vi.advanceTimersByTime(59_000);
    expect(Played.last.aborted).toBe(0);
    vi.advanceTimersByTime(1_000);
    expect(Played.last.aborted).toBe(1);
    await lost;
  });

  it('is not lost when it is stopped', async () => {
    const { answer, abort } = sendChunk('u1', 0, new Blob(['xx']), () => undefined);
    abort();
    await expect(answer).rejects.toMatchObject({ slug: 'aborted' });
  });

  it("is refused with the portal's message", async () => {
    const { answer } = sendChunk('u1', 0, new Blob(['xx']), () => undefined);
    Played.last.answers(507, { type: 'urn:portal:no-space', detail: 'The disk is full.' });
    await expect(answer).rejects.toMatchObject({ slug: 'no-space', message: 'The disk is full.' });
  });
});
