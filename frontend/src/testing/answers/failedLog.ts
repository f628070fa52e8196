/** A recorded response of the portal, written by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

export const failedLog = {
  text: 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\nModuleNotFoundError: No module named \'nothing_like_that\'\n',
  offset: 0,
  next_offset: 131,
  size: 131,
  end: true,
} satisfies Answer<'/api/v1/jobs/{batch_job_id}/log'>;
