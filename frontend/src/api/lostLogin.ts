/**
 * Renews a login that ends while a page is in use. The request that finds out waits here until the
 * same user has logged in again, and is then repeated. It was refused before it had any effect, so
 * nothing happens twice, and the caller does not notice. Does not depend on React.
 */

/** Called with true when the dialog should open, with false when it should close. */
type Listener = (open: boolean) => void;

interface Waiting {
  again: Promise<boolean>;
  settle: (again: boolean) => void;
}

export class LostLogin {
  private waiting: Waiting | null = null;
  private readonly dialogs = new Set<Listener>();

  /**
   * Register a dialog that can ask for the login; the login page has none. Returns a function that
   * unregisters it.
   */
  registerDialog(dialog: Listener): () => void {
    this.dialogs.add(dialog);
    dialog(this.waiting !== null);
    return () => {
      this.dialogs.delete(dialog);
      if (this.dialogs.size === 0) this.answer(false);
    };
  }

  /**
   * Ask for the login. Resolves to true once the same user has logged in again, to false if no
   * dialog can ask or another user wants to log in.
   */
  requestLogin(): Promise<boolean> {
    if (this.dialogs.size === 0) return Promise.resolve(false);
    if (this.waiting === null) {
      let settle: (again: boolean) => void = () => undefined;
      const again = new Promise<boolean>((resolve) => {
        settle = resolve;
      });
      this.waiting = { again, settle };
      this.notifyDialogs(true);
    }
    return this.waiting.again;
  }

  /** Resolve the waiting requests: `renewed` is whether the same user has logged in again. */
  answer(renewed: boolean): void {
    const waiting = this.waiting;
    if (waiting === null) return;
    this.waiting = null;
    this.notifyDialogs(false);
    waiting.settle(renewed);
  }

  private notifyDialogs(open: boolean): void {
    for (const dialog of this.dialogs) dialog(open);
  }
}

export const lostLogin = new LostLogin();

/** Requests of the login itself: a 401 from them does not mean that a login has ended. */
const PART_OF_A_LOGIN = /^\/api\/v1\/(login|logout)(\/|$)/;

/** Return whether this response means that the login has ended. The response's body stays readable. */
export async function hasLoginEnded(address: string, response: Response): Promise<boolean> {
  if (response.status !== 401 || PART_OF_A_LOGIN.test(new URL(address).pathname)) return false;
  const problem: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  return (
    typeof problem === 'object' &&
    problem !== null &&
    'type' in problem &&
    problem.type === 'urn:portal:login-required'
  );
}

type Fetch = (request: Request) => Promise<Response>;

/** Return a `fetch` that repeats a request after its login was renewed. */
export function fetchAfterLogin(lost: LostLogin, fetch: Fetch): Fetch {
  return async (request) => {
    // a request's body can be read only once
    const copy = request.clone();
    const response = await fetch(request);
    if (!(await hasLoginEnded(request.url, response))) return response;
    return (await lost.requestLogin()) ? fetch(copy) : response;
  };
}
