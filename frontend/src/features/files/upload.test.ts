import { describe, expect, it } from 'vitest';
import {
  chunkOf,
  isMoving,
  newItem,
  percentOf,
  resumedItem,
  resumeProblem,
  retryDelayMs,
  type StartedUpload,
  step,
  suggestFreeName,
  type UploadEvent,
  type UploadItem,
} from './upload';

const following = (item: UploadItem, ...events: UploadEvent[]): UploadItem =>
  events.reduce(step, item);
const begun = (offset = 0): UploadEvent => ({ type: 'begun', id: 'u1', chunkBytes: 8, offset });
const BEGIN: UploadEvent = { type: 'begin' };
const fresh = (size = 20): UploadItem => newItem(1, 'home', 'a/b.bin', size);

describe('an upload', () => {
  it('sends chunk by chunk to its end', () => {
    let item = following(fresh(), BEGIN, begun());
    expect(chunkOf(item)).toEqual([0, 8]);
    item = following(item, { type: 'progress', inFlight: 4 });
    expect(percentOf(item)).toBe(20);
    item = following(item, { type: 'arrived', offset: 8 }, { type: 'arrived', offset: 16 });
    expect(chunkOf(item)).toEqual([16, 20]);
    item = following(item, { type: 'arrived', offset: 20 });
    expect(item.state).toBe('finishing');
    expect(percentOf(item)).toBe(99);
    expect(following(item, { type: 'finished' })).toMatchObject({ state: 'done', message: null });
  });

  it('sends no chunk of an empty file', () => {
    expect(following(fresh(0), BEGIN, begun()).state).toBe('finishing');
  });

  it('asks before it replaces a file', () => {
    const taken: UploadEvent = { type: 'taken', replaceable: true, message: 'taken' };
    const asking = following(fresh(), BEGIN, taken);
    expect(asking).toMatchObject({ state: 'asking', replaceable: true });
    expect(following(asking, { type: 'replace' })).toMatchObject({
      state: 'waiting',
      overwrite: true,
    });
    expect(following(asking, { type: 'rename', path: 'a/c' })).toMatchObject({
      state: 'waiting',
      path: 'a/c',
      overwrite: false,
    });
    expect(following(asking, { type: 'cancel' }).state).toBe('gone');
  });

  it('continues at the offset from the portal after the network was lost', () => {
    const lost = following(fresh(), BEGIN, begun(), { type: 'lost', message: 'offline' });
    expect(lost).toMatchObject({ state: 'paused', waitsForNetwork: true, tries: 1 });
    const again = following(lost, { type: 'resume' }, BEGIN, begun(5));
    expect(again).toMatchObject({ state: 'sending', offset: 5, tries: 1, waitsForNetwork: false });
    expect(following(again, { type: 'arrived', offset: 13 }).tries).toBe(0);
  });

  it('ignores late responses', () => {
    const paused = following(fresh(), BEGIN, begun(), { type: 'pause', message: null });
    expect(following(paused, { type: 'arrived', offset: 8 })).toBe(paused);
    expect(following(paused, { type: 'lost', message: 'x' }).waitsForNetwork).toBe(false);
    const gone = following(paused, { type: 'cancel' });
    expect(following(gone, { type: 'resume' }, BEGIN, { type: 'finished' }).state).toBe('gone');
  });

  it('stays done', () => {
    const done = following(fresh(), BEGIN, begun(20), { type: 'finished' });
    expect(following(done, { type: 'cancel' }, { type: 'pause', message: null }).state).toBe(
      'done',
    );
    expect(percentOf(done)).toBe(100);
  });

  it('pauses while it waits for its turn', () => {
    const paused = following(fresh(), { type: 'pause', message: null });
    expect(paused.state).toBe('paused');
    expect(isMoving(paused)).toBe(false);
    expect(following(paused, { type: 'resume' }).state).toBe('waiting');
  });
});

describe('an upload that was begun before', () => {
  const upload: StartedUpload = {
    id: 'u1',
    path: 'a/b.bin',
    size_bytes: 20,
    offset: 8,
    overwrite: true,
    created_at: '2026-01-02T10:00:00Z',
  };
  const file = { name: 'b.bin', size: 20, lastModified: Date.parse('2026-01-01T00:00:00Z') };

  it('continues at the offset from the portal', () => {
    const item = resumedItem(7, upload, 'home');
    expect(item).toMatchObject({ id: 'u1', path: 'a/b.bin', offset: 8, overwrite: true });
    expect(percentOf(item)).toBe(40);
    expect(following(item, BEGIN, begun(16)).state).toBe('sending');
  });

  it('refuses another file', () => {
    expect(resumeProblem(upload, file)).toBeNull();
    expect(resumeProblem(upload, { ...file, name: 'b (1).bin' })).toBeNull();
    expect(resumeProblem(upload, { ...file, size: 21 })).toContain('different size');
    expect(resumeProblem(upload, { ...file, name: 'b.csv' })).toContain('another type');
    const later = Date.parse('2026-01-02T10:00:01Z');
    expect(resumeProblem(upload, { ...file, lastModified: later })).toContain('was changed');
  });
});

describe('retries and names', () => {
  it('waits longer each time', () => {
    expect([1, 2, 3, 20].map(retryDelayMs)).toEqual([1000, 2000, 4000, 30_000]);
  });

  it('suggests a free name', () => {
    expect(suggestFreeName('a.csv')).toBe('a (2).csv');
    expect(suggestFreeName('a (2).csv')).toBe('a (3).csv');
    expect(suggestFreeName('.bashrc')).toBe('.bashrc (2)');
    expect(suggestFreeName('Makefile')).toBe('Makefile (2)');
  });
});
