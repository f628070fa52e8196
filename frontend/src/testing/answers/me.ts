/** A recorded response of the portal, written by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

export const me = {
  id: '6960e0dc-9c4d-4a65-a1f0-0745aec09f5b',
  username: 'carol',
  display_name: 'Carol Castillo',
  email: 'carol@portal.test',
  role: 'admin',
  last_login_at: '2026-11-22T13:45:24.814475Z',
  login_id: '0123456789abcdef',
  password_fresh: true,
  manages: ['portal-users'],
} satisfies Answer<'/api/v1/me'>;
