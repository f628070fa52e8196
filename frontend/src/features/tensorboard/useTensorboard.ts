import { t } from '@lingui/core/macro';
import { useCallback, useEffect, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { ApiError, fieldMessage, sentence } from '@/api/problem';
import type { Tensorboard } from '@/api/types';
import { said } from '@/i18n/said';

const POLL_MS = 700;

export interface TensorboardProgress {
  phase: 'asking' | 'queued' | 'starting' | 'running' | 'failed';
  logdir: string | null;
  problem: string | null;
  again: () => void;
}

type Shown = Omit<TensorboardProgress, 'again'>;

const ASKING: Shown = { phase: 'asking', logdir: null, problem: null };

function shown(board: Tensorboard): Shown {
  const { logdir } = board;
  const reason = said(board.reason);
  if (board.state === 'failed' || board.state === 'stopped')
    return { phase: 'failed', logdir, problem: reason ?? t`TensorBoard has stopped.` };
  return { phase: board.state, logdir, problem: board.state === 'running' ? null : reason };
}

/** Whose TensorBoard; `logdir` to have it show another folder. */
export interface BoardOf {
  kind: 'sessions' | 'jobs';
  id: string;
  logdir?: string | undefined;
}

function ask({ kind, id, logdir }: BoardOf): Promise<Tensorboard> {
  const body = logdir === undefined ? {} : { logdir };
  return kind === 'sessions'
    ? unwrap(
        api.PUT('/api/v1/sessions/{session_id}/tensorboard', {
          params: { path: { session_id: id } },
          body,
        }),
      )
    : unwrap(
        api.PUT('/api/v1/jobs/{job_id}/tensorboard', { params: { path: { job_id: id } }, body }),
      );
}

function lookAgain({ kind, id }: BoardOf): Promise<Tensorboard> {
  return kind === 'sessions'
    ? unwrap(
        api.GET('/api/v1/sessions/{session_id}/tensorboard', {
          params: { path: { session_id: id } },
        }),
      )
    : unwrap(api.GET('/api/v1/jobs/{job_id}/tensorboard', { params: { path: { job_id: id } } }));
}

/** Asks for the TensorBoard and looks until it runs, then goes there. Returns what stops it. */
function bringUp(of: BoardOf, show: (progress: Shown) => void): () => void {
  let timer: number | undefined;
  let stopped = false;

  const look = async (request: Promise<Tensorboard>): Promise<void> => {
    try {
      const board = await request;
      if (stopped) return;
      show(shown(board));
      if (board.state === 'running' && board.url) window.location.replace(board.url);
      else if (board.state === 'queued' || board.state === 'starting') later();
    } catch (error) {
      if (stopped) return;
      const refused = error instanceof ApiError && error.status >= 400 && error.status < 500;
      const problem = fieldMessage(error, 'logdir') ?? sentence(error);
      show({ phase: refused ? 'failed' : 'starting', logdir: of.logdir ?? null, problem });
      if (!refused) later();
    }
  };

  const later = (): void => {
    timer = window.setTimeout(() => void look(lookAgain(of)), POLL_MS);
  };

  void look(ask(of));
  return () => {
    stopped = true;
    window.clearTimeout(timer);
  };
}

export function useTensorboard({ kind, id, logdir }: BoardOf): TensorboardProgress {
  const [progress, setProgress] = useState(ASKING);
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt begins anew
  useEffect(() => {
    setProgress(ASKING);
    return bringUp({ kind, id, logdir }, setProgress);
  }, [kind, id, logdir, attempt]);
  const again = useCallback(() => setAttempt((n) => n + 1), []);
  return { ...progress, again };
}
