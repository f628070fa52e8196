/** A recorded response of the portal, written by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

export const packages = {
  folder: '~/.local/share/portal/packages/python3',
  items: [],
  complete: true,
  removed: [],
  removed_complete: true,
} satisfies Answer<'/api/v1/environments/{name}/packages'>;
