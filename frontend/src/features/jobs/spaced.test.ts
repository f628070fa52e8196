import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { spaced } from './spaced';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Takes 100 ms. */
const slow = () => vi.fn(() => new Promise((resolve) => setTimeout(resolve, 100)));

it('is done at once, and once more for all that ask meanwhile', async () => {
  const act = slow();
  const { ask } = spaced(act, () => 1000);
  ask();
  expect(act).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(50);
  ask();
  await vi.advanceTimersByTimeAsync(500);
  ask();
  expect(act).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(550);
  expect(act).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(act).toHaveBeenCalledTimes(2);
  ask();
  expect(act).toHaveBeenCalledTimes(3);
});

it('waits only for its own end where there is no pause', async () => {
  const act = slow();
  const { ask } = spaced(act, () => 0);
  ask();
  ask();
  await vi.advanceTimersByTimeAsync(100);
  expect(act).toHaveBeenCalledTimes(2);
});

it('does nothing more when it is stopped', async () => {
  const act = slow();
  const { ask, stop } = spaced(act, () => 1000);
  ask();
  ask();
  stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(act).toHaveBeenCalledTimes(1);
});
