/** A recorded response of the portal, written by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

export const recentSetups = {
  items: [
    {
      name: 'over-dff4',
      environment: 'python3',
      environment_title: 'Python 3.11',
      resources: {
        partition: 'cpu',
        nodes: 1,
        gpus: 0,
        gpu_type: null,
        cpus: 1,
        memory_gb: 1.0,
        time_limit_minutes: 30,
        account: null,
        qos: null,
      },
      problem: null,
      used_at: '2026-11-22T13:45:25.025229Z',
    },
  ],
} satisfies Answer<'/api/v1/setups/recent'>;
