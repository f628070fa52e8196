import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { LiveEvent, LiveState } from './reducer';
import { openLive } from './share';
import { liveStore } from './store';

vi.mock('./share', () => ({ openLive: vi.fn() }));

interface Opened {
  emit: (event: LiveEvent) => void;
  state: () => LiveState;
  close: ReturnType<typeof vi.fn>;
  username: string;
}

const opened: Opened[] = [];
const SNAPSHOT: Extract<LiveEvent, { kind: 'snapshot' }> = {
  kind: 'snapshot',
  sessions: [],
  jobs: [],
  cluster: null,
  announcements: [],
};

describe('the live state', () => {
  beforeEach(() => {
    liveStore.close();
    opened.length = 0;
    vi.mocked(openLive).mockImplementation((sink, username) => {
      const close = vi.fn();
      opened.push({ ...sink, close, username });
      return { close, reopen: vi.fn() };
    });
  });

  it('is opened once for a user', () => {
    liveStore.open('alice');
    opened[0]?.emit(SNAPSHOT);
    liveStore.open('alice');
    expect(opened).toHaveLength(1);
    expect(opened[0]?.state().sessions).toEqual([]);
  });

  it('begins with a snapshot from before the stream', () => {
    liveStore.seed('alice', SNAPSHOT);
    liveStore.open('alice');
    expect(opened[0]?.state().sessions).toEqual([]);
    expect(opened[0]?.state().connection).toBe('connecting');
    expect(liveStore.isOpen()).toBe(true);
  });

  it("does not show a snapshot of another user's", () => {
    liveStore.seed('alice', SNAPSHOT);
    liveStore.open('bob');
    expect(opened[0]?.state().sessions).toBeNull();
  });

  it('is reset for another user', () => {
    liveStore.open('alice');
    opened[0]?.emit(SNAPSHOT);
    liveStore.open('bob');
    expect(opened[0]?.close).toHaveBeenCalledOnce();
    expect(opened[1]?.username).toBe('bob');
    expect(opened[1]?.state().sessions).toBeNull();
  });
});
