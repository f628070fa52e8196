/** Something that is asked for more often than it should be done. Knows nothing of jobs. */

interface Spaced {
  ask: () => void;
  /** what was asked for and isn't begun yet is not done any more */
  stop: () => void;
}

/** Does it at once, but never twice at a time, nor before a pause after its end: whoever asks meanwhile
 * is answered by doing it once more, so that the last to ask gets what is true then. */
export function spaced(act: () => Promise<unknown>, pauseMs: () => number): Spaced {
  let wanted = false;
  let busy = false;
  const run = async (): Promise<void> => {
    busy = true;
    try {
      while (wanted) {
        wanted = false;
        await act();
        const pause = pauseMs();
        if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
      }
    } finally {
      busy = false;
    }
  };
  return {
    ask: () => {
      wanted = true;
      if (!busy) void run();
    },
    stop: () => {
      wanted = false;
    },
  };
}
