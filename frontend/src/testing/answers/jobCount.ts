/** A recorded response of the portal, written by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

export const jobCount = {
  count: 16,
  by_state: {
    cancelled: 2,
    completed: 9,
    failed: 4,
    running: 1,
  },
} satisfies Answer<'/api/v1/jobs/count'>;
