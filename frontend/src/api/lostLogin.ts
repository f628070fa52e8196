/**
 * Renews a login that ends while a page is in use. The request that finds out waits here until the
 * same user has logged in again, and is then repeated. It was refused before it had any effect, so
 * nothing happens twice, and the caller does not notice. Does not depend on React.
 */

/** Whether a dialog should be asking. */
type Listener = (asking: boolean) => void;

interface Waiting {
  again: Promise<boolean>;
  settle: (again: boolean) => void;
}

export class LostLogin {
  private waiting: Waiting | null = null;
  private readonly askers = new Set<Listener>();

  /**
   * Register a dialog that can ask for the login; the login page has none. Returns a function that
   * unregisters it.
   */
  askedBy(asker: Listener): () => void {
    this.askers.add(asker);
    asker(this.waiting !== null);
    return () => {
      this.askers.delete(asker);
      if (this.askers.size === 0) this.answer(false);
    };
  }

  /**
   * Ask for the login. Resolves to true once the same user has logged in again, to false if no
   * dialog can ask or another user wants to log in.
   */
  ask(): Promise<boolean> {
    if (this.askers.size === 0) return Promise.resolve(false);
    if (this.waiting === null) {
      let settle: (again: boolean) => void = () => undefined;
      const again = new Promise<boolean>((resolve) => {
        settle = resolve;
      });
      this.waiting = { again, settle };
      this.notifyAskers(true);
    }
    return this.waiting.again;
  }

  /** What came of it. */
  answer(again: boolean): void {
    const waiting = this.waiting;
    if (waiting === null) return;
    this.waiting = null;
    this.notifyAskers(false);
    waiting.settle(again);
  }

  private notifyAskers(asking: boolean): void {
    for (const asker of this.askers) asker(asking);
  }
}

export const lostLogin = new LostLogin();

/** The steps of a login itself are refused to those who did them. */
const PART_OF_A_LOGIN = /^\/api\/v1\/(login|logout)(\/|$)/;

/** Whether this answer says that the login has ended. It leaves the answer's body to be read. */
export async function saysLoginEnded(address: string, response: Response): Promise<boolean> {
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

/** `fetch` that outlives the end of a login. */
export function fetchAfterLogin(lost: LostLogin, fetch: Fetch): Fetch {
  return async (request) => {
    // a request's body can be read once
    const again = request.clone();
    const response = await fetch(request);
    if (!(await saysLoginEnded(request.url, response))) return response;
    return (await lost.ask()) ? fetch(again) : response;
  };
}
