/** A recorded response of the portal, written by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

export const sessionUse = {
  reported_at: null,
  step_s: null,
  at: [],
  memory_mb: [],
  cpus: [],
  memory_limit_mb: null,
  memory_killed_at: null,
  gpus: null,
  total: null,
} satisfies Answer<'/api/v1/sessions/{session_id}/use'>;
