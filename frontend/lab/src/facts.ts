/** What the session's own server answers: see spawner/node/jupyter/portal_link.py. */
import type { Session } from '@/api/types';

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

/** What the node measures; null is what it can't. */
export interface Use {
  memory: Memory | null;
  gpus: Gpu[] | null;
}

/** What the portal says; `now` is its clock. */
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

/** The session's TensorBoard; `frame_url` is for a frame in its owner's notebooks alone. */
export interface FramedTensorboard {
  logdir: string;
  frame_url: string;
}

export interface News {
  facts: Facts | null;
  problem: string | null;
  use: Use;
  /** The owner has confirmed that the session is to go on although nothing runs. */
  kept: boolean;
}
