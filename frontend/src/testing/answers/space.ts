/** A recorded response of the portal, written by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

export const space = {
  items: [
    {
      name: 'home',
      title: 'Home',
      total_bytes: 270553174016,
      free_bytes: 71697682432,
      quota: null,
      problem: null,
    },
  ],
} satisfies Answer<'/api/v1/files/space'>;
