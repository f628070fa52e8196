import type { App } from '@/api/types';

/** An app that does not run; tests give it a name and what else they need. */
export const stoppedApp: App = {
  name: 'demo',
  title: 'Demo',
  description: '',
  input: null,
  extensions: [],
  state: 'stopped',
  problem: null,
  started_at: null,
  file: null,
  command: null,
  port: null,
  log: [],
  url: null,
};
