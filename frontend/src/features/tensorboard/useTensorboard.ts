import { t } from '@lingui/core/macro';
import { useCallback, useEffect, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { ApiError, errorMessage, fieldMessage } from '@/api/problem';
import type { Tensorboard } from '@/api/types';
import { translate } from '@/i18n/translate';

const POLL_MS = 700;

export interface TensorboardProgress {
  phase: 'asking' | 'queued' | 'starting' | 'running' | 'failed';
  logdir: string | null;
  message: string | null;
  retry: () => void;
}

type Progress = Omit<TensorboardProgress, 'retry'>;

const ASKING: Progress = { phase: 'asking', logdir: null, message: null };

function toProgress(board: Tensorboard): Progress {
  const { logdir } = board;
  const reason = translate(board.reason);
  if (board.state === 'failed' || board.state === 'stopped')
    return { phase: 'failed', logdir, message: reason ?? t`TensorBoard has stopped.` };
  return { phase: board.state, logdir, message: board.state === 'running' ? null : reason };
}

/** The TensorBoard's session or job; `logdir` selects another folder. */
export interface TensorboardSource {
  kind: 'sessions' | 'jobs';
  id: string;
  logdir?: string | undefined;
}

function startTensorboard({ kind, id, logdir }: TensorboardSource): Promise<Tensorboard> {
  const body = logdir === undefined ? {} : { logdir };
  return kind === 'sessions'
    ? unwrap(
        api.PUT('/api/v1/sessions/{session_id}/tensorboard', {
          params: { path: { session_id: id } },
          body,
        }),
      )
    : unwrap(
        api.PUT('/api/v1/jobs/{batch_job_id}/tensorboard', {
          params: { path: { batch_job_id: id } },
          body,
        }),
      );
}

function fetchTensorboard({ kind, id }: TensorboardSource): Promise<Tensorboard> {
  return kind === 'sessions'
    ? unwrap(
        api.GET('/api/v1/sessions/{session_id}/tensorboard', {
          params: { path: { session_id: id } },
        }),
      )
    : unwrap(
        api.GET('/api/v1/jobs/{batch_job_id}/tensorboard', {
          params: { path: { batch_job_id: id } },
        }),
      );
}

/** Request the address that opens a running TensorBoard in this browser. */
const addressOf = (id: string): Promise<{ url: string }> =>
  unwrap(
    api.POST('/api/v1/tensorboards/{tensorboard_id}/open', {
      params: { path: { tensorboard_id: id } },
    }),
  );

/** Request the TensorBoard, poll until it runs, then go there. Returns a function that stops it. */
function startAndOpen(source: TensorboardSource, show: (progress: Progress) => void): () => void {
  let timer: number | undefined;
  let stopped = false;

  const goTo = async (id: string): Promise<void> => {
    const { url } = await addressOf(id);
    if (!stopped) window.location.replace(url);
  };

  const check = async (request: Promise<Tensorboard>): Promise<void> => {
    try {
      const board = await request;
      if (stopped) return;
      show(toProgress(board));
      if (board.state === 'running') await goTo(board.id);
      else if (board.state === 'queued' || board.state === 'starting') later();
    } catch (error) {
      if (stopped) return;
      const refused = error instanceof ApiError && error.status >= 400 && error.status < 500;
      const message = fieldMessage(error, 'logdir') ?? errorMessage(error);
      show({ phase: refused ? 'failed' : 'starting', logdir: source.logdir ?? null, message });
      if (!refused) later();
    }
  };

  const later = (): void => {
    timer = window.setTimeout(() => void check(fetchTensorboard(source)), POLL_MS);
  };

  void check(startTensorboard(source));
  return () => {
    stopped = true;
    window.clearTimeout(timer);
  };
}

/** Go to a running TensorBoard, the user's own or a shared one. Returns the reason if that fails. */
export function useRunningTensorboard(id: string): { message: string | null; retry: () => void } {
  const [message, setMessage] = useState<string | null>(null);
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt starts over
  useEffect(() => {
    let cancelled = false;
    setMessage(null);
    addressOf(id).then(
      ({ url }) => !cancelled && window.location.replace(url),
      (error: unknown) => !cancelled && setMessage(errorMessage(error)),
    );
    return () => {
      cancelled = true;
    };
  }, [id, attempt]);
  return { message, retry: useCallback(() => setAttempt((n) => n + 1), []) };
}

export function useTensorboard({ kind, id, logdir }: TensorboardSource): TensorboardProgress {
  const [progress, setProgress] = useState(ASKING);
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt starts over
  useEffect(() => {
    setProgress(ASKING);
    return startAndOpen({ kind, id, logdir }, setProgress);
  }, [kind, id, logdir, attempt]);
  const retry = useCallback(() => setAttempt((n) => n + 1), []);
  return { ...progress, retry };
}
