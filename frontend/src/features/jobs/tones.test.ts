import { describe, expect, it } from 'vitest';
import type { Outcome, Session } from '@/api/types';
import { stateLabel } from '@/features/sessions/labels';
import { OUTCOME_TONES, STATE_TONES } from '@/ui/tones';
import { jobStateLabel } from './labels';

const STATES = Object.keys(STATE_TONES) as Session['state'][];
const OUTCOMES = Object.keys(OUTCOME_TONES) as Outcome[];

describe('the color of a state', () => {
  it('is the same for a job and a session', () => {
    for (const state of STATES)
      expect(jobStateLabel({ state, outcome: null }).tone).toBe(
        stateLabel({ state, outcome: null }).tone,
      );
    for (const outcome of OUTCOMES)
      expect(jobStateLabel({ state: 'ended', outcome }).tone).toBe(
        stateLabel({ state: 'ended', outcome }).tone,
      );
  });

  it('differs between running and completed', () => {
    expect(STATE_TONES.running).not.toBe(OUTCOME_TONES.completed);
  });
});
