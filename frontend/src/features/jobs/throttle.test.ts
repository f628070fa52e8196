import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { throttle } from './throttle';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Takes 100 ms. */
const slow = () => vi.fn(() => new Promise((resolve) => setTimeout(resolve, 100)));

it('runs at once, and once more for all requests made during the run', async () => {
  const act = slow();
  const { ask } = throttle(act, () => 1000);
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
  const { ask } = throttle(act, () => 0);
  ask();
  ask();
  await vi.advanceTimersByTimeAsync(100);
  expect(act).toHaveBeenCalledTimes(2);
});

it('does nothing more when it is stopped', async () => {
  const act = slow();
  const { ask, stop } = throttle(act, () => 1000);
  ask();
  ask();
  stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(act).toHaveBeenCalledTimes(1);
});
