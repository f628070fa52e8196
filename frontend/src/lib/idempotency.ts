/**
 * Requests that must not take effect twice although they may be sent twice: because a response was
 * lost, or a button was clicked again before it was disabled.
 */
import { ApiError } from '@/api/problem';
import { isLike, isNumber, isRecordOf, isText, tabStorage } from './drafts';
import { onLogout } from './onLogout';

interface PendingRequest<B> {
  key: string;
  body: B;
  at: number;
}

/** After this time the same request is a new one: its result has been seen by then. */
const SAME_FOR_MS = 10 * 60_000;

const STORAGE_KEY = 'portal.requests';

/**
 * Requests of this tab without a response. They are in its storage beside the form drafts, because
 * a form survives a reload, and then sends the same request.
 */
const pending = new Map(Object.entries(stored()));

onLogout(() => {
  pending.clear();
  store();
});

function stored(): Readonly<Record<string, PendingRequest<unknown>>> {
  try {
    const value: unknown = JSON.parse(tabStorage()?.getItem(STORAGE_KEY) ?? 'null');
    return arePendingRequests(value) ? value : {};
  } catch {
    return {}; // invalid
  }
}

function store(): void {
  const storage = tabStorage();
  try {
    if (pending.size === 0) storage?.removeItem(STORAGE_KEY);
    else storage?.setItem(STORAGE_KEY, JSON.stringify(Object.fromEntries(pending)));
  } catch {
    // storage is full: this page still has them, and an earlier stored state is outdated
    storage?.removeItem(STORAGE_KEY);
  }
}

function arePendingRequests(
  value: unknown,
): value is Readonly<Record<string, PendingRequest<unknown>>> {
  const isAny = (_: unknown): _ is unknown => true;
  return isRecordOf(isLike<PendingRequest<unknown>>({ key: isText, body: isAny, at: isNumber }))(
    value,
  );
}

/** Create a random key. `crypto.randomUUID` is missing where the portal is served over plain HTTP. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Return whether an error is the portal's own response, which means that nothing was created; a
 * gateway's error, or no response at all, leaves that open. */
const isClientError = (error: unknown): boolean =>
  error instanceof ApiError && error.status >= 400 && error.status < 500;

interface Options<A> {
  /** whether the result of an earlier attempt is gone, so that a new one must be created */
  isOver?: (answer: A) => boolean;
  now?: () => number;
}

/**
 * Send a request with an idempotency key. Until a response arrives, the same request is repeated
 * unchanged under the same key, by which the portal recognizes it. `identity` decides whether two
 * requests are the same.
 */
export async function sendOnce<B, A>(
  identity: unknown,
  make: () => B,
  send: (body: B, key: string) => Promise<A>,
  { isOver = () => false, now = Date.now }: Options<A> = {},
): Promise<A> {
  const name = JSON.stringify(identity);
  const before = pending.get(name) as PendingRequest<B> | undefined;
  const reusable = before !== undefined && now() - before.at < SAME_FOR_MS;
  const request = reusable ? before : { key: newKey(), body: make(), at: now() };
  for (const [each, { at }] of pending) if (now() - at >= SAME_FOR_MS) pending.delete(each);
  pending.set(name, request);
  store();
  const settled = (): void => {
    if (pending.get(name) !== request) return;
    pending.delete(name);
    store();
  };
  try {
    const answer = await send(request.body, request.key);
    settled();
    return reusable && isOver(answer)
      ? await sendOnce(identity, make, send, { isOver, now })
      : answer;
  } catch (error) {
    if (isClientError(error)) settled();
    throw error;
  }
}
