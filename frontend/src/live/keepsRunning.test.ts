import { expect, test } from 'vitest';
import type { SessionState } from '@/api/types';
import { keepsRunning } from './keepsRunning';

test.each<[SessionState, boolean, boolean]>([
  ['running', false, true],
  ['running', true, true],
  ['starting', false, false],
  ['starting', true, true],
  ['stopping', true, false],
  ['suspended', true, false],
  ['queued', true, false],
  ['ended', true, false],
])('keepsRunning in the state %s, has run: %s', (state, hasRun, expected) => {
  expect(keepsRunning({ state }, hasRun)).toBe(expected);
});
