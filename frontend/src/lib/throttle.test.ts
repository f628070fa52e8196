import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { growingPause, throttle } from './throttle';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** An action that takes 100 ms. */
const slow = () => vi.fn(() => new Promise((resolve) => setTimeout(resolve, 100)));

it('runs at once, and once more for all requests made during the run', async () => {
  const action = slow();
  const { request } = throttle(action, () => 1000);
  request();
  expect(action).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(50);
  request();
  await vi.advanceTimersByTimeAsync(500);
  request();
  expect(action).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(550);
  expect(action).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(action).toHaveBeenCalledTimes(2);
  request();
  expect(action).toHaveBeenCalledTimes(3);
});

it('starts again at its end without a pause', async () => {
  const action = slow();
  const { request } = throttle(action, () => 0);
  request();
  request();
  await vi.advanceTimersByTimeAsync(100);
  expect(action).toHaveBeenCalledTimes(2);
});

it('does not run after stop', async () => {
  const action = slow();
  const { request, stop } = throttle(action, () => 1000);
  request();
  request();
  stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(action).toHaveBeenCalledTimes(1);
});

it.each([350, 1100])('runs at most ten times for 80 changes, one every %i ms', async (everyMs) => {
  const action = slow();
  const { request } = throttle(action, growingPause);
  for (let change = 0; change < 80; change++) {
    request();
    await vi.advanceTimersByTimeAsync(everyMs);
  }
  await vi.advanceTimersByTimeAsync(60_000);
  expect(action.mock.calls.length).toBeLessThanOrEqual(10);
  request();
  const after = action.mock.calls.length;
  await vi.advanceTimersByTimeAsync(50);
  expect(action).toHaveBeenCalledTimes(after); // at once again after a rest
});

it('shows the last change', async () => {
  let state = 0;
  let seen = -1;
  const { request } = throttle(async () => {
    seen = state;
  }, growingPause);
  for (; state < 30; state++) {
    request();
    await vi.advanceTimersByTimeAsync(500);
  }
  request();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(seen).toBe(30);
});
