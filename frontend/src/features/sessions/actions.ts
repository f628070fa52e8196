/** What a session's owner can do to it. Each resolves when the portal has agreed. */
import { api, unwrap } from '@/api/client';
import type { Session, SessionRequest } from '@/api/types';
import { live } from '@/live/store';

export async function startSession(body: SessionRequest): Promise<Session> {
  const session = await unwrap(api.POST('/api/v1/sessions', { body }));
  live.answered(session);
  return session;
}

/** What is needed to have a session again. */
type Again = Pick<Session, 'name' | 'environment'> & {
  resources: NonNullable<SessionRequest['resources']>;
};

/** The same again; under a new name if the old one is in use meanwhile. */
export function startAgain({ name, environment, resources }: Again): Promise<Session> {
  const kept = live.isNameTaken(name) ? {} : { name };
  return startSession({ ...kept, environment, resources });
}

/** Stops a live session; takes an ended one off the list. */
export async function stopSession(id: string): Promise<void> {
  const params = { path: { session_id: id } };
  const answer = (await unwrap(api.DELETE('/api/v1/sessions/{session_id}', { params }))) as
    | Session
    | undefined;
  if (answer?.id === id) live.answered(answer);
  else live.removed(id);
}

/** Adds to a running session's time. */
export async function extendSession(id: string, minutes: number): Promise<void> {
  const params = { path: { session_id: id } };
  const body = { minutes };
  live.answered(await unwrap(api.POST('/api/v1/sessions/{session_id}/extend', { params, body })));
}

export async function stopTensorboard(sessionId: string): Promise<void> {
  const params = { path: { session_id: sessionId } };
  await unwrap(api.DELETE('/api/v1/sessions/{session_id}/tensorboard', { params }));
}
