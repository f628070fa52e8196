/** A recorded response of the portal, written by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

export const setups = {
  items: [
    {
      id: '16a673de-d7de-41a0-a90c-013220d39fda',
      name: 'Small and quick',
      environment: 'python3',
      environment_title: 'Python 3.11',
      resources: {
        partition: null,
        nodes: null,
        gpus: null,
        gpu_type: null,
        cpus: 1,
        memory_gb: 0.25,
        time_limit_minutes: 10,
        account: null,
        qos: null,
      },
      problem: null,
      created_at: '2026-11-22T13:45:24.889896Z',
      used_at: null,
    },
  ],
} satisfies Answer<'/api/v1/setups'>;
