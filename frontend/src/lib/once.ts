/** Wishes that must not be fulfilled twice, though they are sent twice: because an answer was lost on
 * the network, or a button was clicked again before it was drawn busy. */
import { ApiError } from '@/api/problem';
import { isLike, isNumber, isRecordOf, isText, tabStorage } from './drafts';
import { onPersonLeaves } from './leaving';

interface Wish<B> {
  key: string;
  body: B;
  at: number;
}

/** After so long it is a new wish: what became of the old one has been seen by then. */
const SAME_FOR_MS = 10 * 60_000;

const STORED = 'portal.wishes';

/** Sent, and not answered yet, as far as this tab knows. They are in its storage beside the drafts
 * of forms, for a form comes back after a reload, and then it is the same wish. */
const open = new Map(Object.entries(stored()));

onPersonLeaves(() => {
  open.clear();
  store();
});

function stored(): Readonly<Record<string, Wish<unknown>>> {
  try {
    const found: unknown = JSON.parse(tabStorage()?.getItem(STORED) ?? 'null');
    return areWishes(found) ? found : {};
  } catch {
    return {}; // not ours
  }
}

function store(): void {
  const storage = tabStorage();
  try {
    if (open.size === 0) storage?.removeItem(STORED);
    else storage?.setItem(STORED, JSON.stringify(Object.fromEntries(open)));
  } catch {
    // full: this page still knows them, and what was kept before is old
    storage?.removeItem(STORED);
  }
}

function areWishes(value: unknown): value is Readonly<Record<string, Wish<unknown>>> {
  const isAny = (_: unknown): _ is unknown => true;
  return isRecordOf(isLike<Wish<unknown>>({ key: isText, body: isAny, at: isNumber }))(value);
}

/** `crypto.randomUUID` is missing where the portal is served over plain HTTP. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A refusal is an answer, after which nothing was made; a gateway's word, or none, is no answer. */
const isAnswer = (error: unknown): boolean =>
  error instanceof ApiError && error.status >= 400 && error.status < 500;

interface How<A> {
  /** whether what an earlier try has made is gone again, so that it can't be what is wanted now */
  isOver?: (answer: A) => boolean;
  now?: () => number;
}

/**
 * Sends a wish with a key of its own. Until it was answered the same wish goes out as it was, under
 * the same key, by which the portal knows it. `of` says what makes it the same.
 */
export async function once<B, A>(
  of: unknown,
  make: () => B,
  send: (body: B, key: string) => Promise<A>,
  { isOver = () => false, now = Date.now }: How<A> = {},
): Promise<A> {
  const name = JSON.stringify(of);
  const before = open.get(name) as Wish<B> | undefined;
  const fresh = before !== undefined && now() - before.at < SAME_FOR_MS;
  const wish = fresh ? before : { key: newKey(), body: make(), at: now() };
  for (const [each, { at }] of open) if (now() - at >= SAME_FOR_MS) open.delete(each);
  open.set(name, wish);
  store();
  const settled = (): void => {
    if (open.get(name) !== wish) return;
    open.delete(name);
    store();
  };
  try {
    const answer = await send(wish.body, wish.key);
    settled();
    return fresh && isOver(answer) ? await once(of, make, send, { isOver, now }) : answer;
  } catch (error) {
    if (isAnswer(error)) settled();
    throw error;
  }
}
