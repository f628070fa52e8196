/** The responses of the session's own server; see spawner/node/jupyter/session_api.py. */
import type { App, Job, Session } from '@/api/types';
import type { CellOutput } from './jupyter';

export interface Memory {
  used_bytes: number;
  limit_bytes: number | null;
}

export interface Gpu {
  name: string;
  use_percent: number | null;
  memory_used_bytes: number | null;
  memory_bytes: number | null;
}

/** The node's measurements; null where it cannot measure. */
export interface CurrentUsage {
  memory: Memory | null;
  gpus: Gpu[] | null;
}

/** The portal's data about the session; `now` is the portal's clock. */
export interface Facts {
  now: string;
  session: Pick<
    Session,
    | 'name'
    | 'node'
    | 'environment'
    | 'resources'
    | 'state'
    | 'expires_at'
    | 'extension'
    | 'idle_since'
  >;
  pages: { session: string; tensorboard: string; run_notebook: string; start_again: string };
}

/** The session's TensorBoard; `frame_url` only works in a frame of the owner's notebooks. */
export interface FramedTensorboard {
  logdir: string;
  frame_url: string;
}

export interface SessionUpdate {
  facts: Facts | null;
  problem: string | null;
  use: CurrentUsage;
  /** The owner has confirmed that the session shall continue although it is idle. */
  kept: boolean;
}

/** The usage in the last hour: columns of equal length, oldest point first; null is unknown. */
export interface UsageSeries {
  ages_s: number[];
  memory_mb: (number | null)[];
  memory_limit_mb: number | null;
  gpus:
    | {
        name: string;
        use_percent: (number | null)[];
        memory_mb: (number | null)[];
        memory_total_mb: number | null;
      }[]
    | null;
}

/** One of the owner's jobs. `path`: the executed notebook for JupyterLab, null if there is none or
 * it is outside the home. */
export interface SessionJob
  extends Pick<
    Job,
    'id' | 'name' | 'state' | 'outcome' | 'submitted_at' | 'started_at' | 'ended_at'
  > {
  array_size: number | null;
  page: string;
  notebook: string | null;
  path: string | null;
}

/** The owner's live jobs and those that ended last; `now` is the portal's clock. */
export interface SessionJobs {
  now: string;
  jobs: SessionJob[];
}

export interface LogEnd {
  text: string;
  /** The beginning is left out. */
  cut: boolean;
}

/** An app of the session, as its server describes it. */
export type SessionApp = Pick<
  App,
  'name' | 'title' | 'input' | 'extensions' | 'state' | 'problem' | 'file'
>;

/** Changes of an execution of a cell that this page does not show by itself. */
export interface Execution {
  id: string;
  cell: string;
  state: 'queued' | 'running' | 'done';
  count: number | null;
  /** This page requested it, but may have missed messages. */
  own: boolean;
  /** The page's connection was lost while it ran: the page may have the end, but miss the middle. */
  gap: boolean;
  /** The page that requested it is open, and saves the outputs. */
  connected: boolean;
  /** `outputs` are all of them, not only those that changed. */
  whole: boolean;
  length: number;
  outputs: [number, CellOutput][];
}

export interface Executions {
  version: number;
  executions: Execution[];
}
