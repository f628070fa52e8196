/** Actions of a session's owner. Each promise resolves once the portal has accepted the request. */
import { api, unwrap } from '@/api/client';
import type { Session, SessionRequest } from '@/api/types';
import { sendOnce } from '@/lib/idempotency';
import { liveStore } from '@/live/store';

async function sendSession(body: SessionRequest, key: string): Promise<Session> {
  const params = { header: { 'idempotency-key': key } };
  const session = await unwrap(api.POST('/api/v1/sessions', { params, body }));
  liveStore.sessionAnswered(session);
  return session;
}

/** Return whether a session has ended: then a repeated request starts another one. */
export const isOver = ({ state }: Session): boolean => state === 'ended';

/** Start a session. `explicit` is the request without the fields that the portal completes; it identifies
 * the request: a second attempt with the same one starts no second session. */
export function startSession(body: SessionRequest, explicit: SessionRequest): Promise<Session> {
  return sendOnce(['session', explicit], () => body, sendSession, { isOver });
}

/** The data needed to start a session again. */
type StartAgainRequest = Pick<Session, 'name' | 'environment'> & {
  resources: NonNullable<SessionRequest['resources']>;
};

/** Start the same session again, under a new name if the old one is taken. */
export function startAgain({ name, environment, resources }: StartAgainRequest): Promise<Session> {
  const body = (): SessionRequest => {
    const sameName = liveStore.isNameTaken(name) ? {} : { name };
    return { ...sameName, environment, resources };
  };
  return sendOnce(['start-again', name, environment, resources], body, sendSession, { isOver });
}

/** Stop a session; one that has already ended stays in the list. */
export async function stopSession(id: string): Promise<void> {
  const params = { path: { session_id: id }, query: { remove: false } };
  liveStore.sessionAnswered(
    (await unwrap(api.DELETE('/api/v1/sessions/{session_id}', { params }))) as Session,
  );
}

/** Remove an ended session from the list. */
export async function removeSession(id: string): Promise<void> {
  const params = { path: { session_id: id } };
  await unwrap(api.DELETE('/api/v1/sessions/{session_id}', { params }));
  liveStore.sessionRemoved(id);
}

/** Extend a running session. */
export async function extendSession(id: string, minutes: number): Promise<void> {
  const params = { path: { session_id: id } };
  const body = { minutes };
  liveStore.sessionAnswered(
    await unwrap(api.POST('/api/v1/sessions/{session_id}/extend', { params, body })),
  );
}

export async function stopTensorboard(sessionId: string): Promise<void> {
  const params = { path: { session_id: sessionId } };
  await unwrap(api.DELETE('/api/v1/sessions/{session_id}/tensorboard', { params }));
}
