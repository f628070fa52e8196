/** What the portal answered once, recorded by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

export const jobCount = {
  count: 16,
} satisfies Answer<'/api/v1/jobs/count'>;
