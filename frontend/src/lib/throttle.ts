/** Runs a function less often than it is called. */

interface Throttled {
  request: () => void;
  /** cancels a pending call */
  stop: () => void;
}

/**
 * Return a throttle that runs `action` at once if idle. Runs never overlap, and each is followed by a
 * pause. Requests during a run or pause cause one more run after it, so the last caller gets a current
 * result. `pauseMs` receives the number of consecutive runs.
 */
export function throttle(
  action: () => Promise<unknown>,
  pauseMs: (runs: number) => number,
): Throttled {
  let requested = false;
  let busy = false;
  const run = async (): Promise<void> => {
    busy = true;
    try {
      for (let runs = 1; requested; runs++) {
        requested = false;
        await action();
        const pause = pauseMs(runs);
        if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
      }
    } finally {
      busy = false;
    }
  };
  return {
    request: () => {
      requested = true;
      if (!busy) void run();
    },
    stop: () => {
      requested = false;
    },
  };
}

const SHORTEST_MS = 2000;
const LONGEST_MS = 15_000;

/** Return the pause after the n-th consecutive run: a single change is shown at once, but hundreds of
 * them, such as a sweep that is submitted, cause few requests. */
export const growingPause = (runs: number): number =>
  Math.min(SHORTEST_MS * 2 ** (runs - 1), LONGEST_MS);
