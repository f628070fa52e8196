/** Runs a function less often than it is called. Knows nothing of jobs. */

interface Throttled {
  ask: () => void;
  /** cancels a pending call */
  stop: () => void;
}

/**
 * Return a throttle that runs `act` at once, but never twice at a time, nor before a pause after
 * its end. Requests during a run or pause cause one more run, so the last caller gets a current
 * result.
 */
export function throttle(act: () => Promise<unknown>, pauseMs: () => number): Throttled {
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
