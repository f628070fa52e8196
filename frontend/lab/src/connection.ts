/** The dialog for a lost server: why the session ended, and how to start it again. */
import { translate } from '@/i18n/translate';
import { browserTabs, type Tabs } from './actions';
import type { Dialogs } from './jupyter';
import { messages } from './messages';
import type { SessionWatch } from './watch';

const NOT_RUNNING = 424;

/** The portal's response for the address of a session that is not running. */
interface Problem {
  detail?: unknown;
}

/** Return the portal's reason why the session is not running; null if it runs or nothing answers. */
export async function whyEnded(
  baseUrl: string,
  get: (url: string, init: RequestInit) => Promise<Response> = (url, init) => fetch(url, init),
): Promise<string | null> {
  try {
    const answer = await get(`${baseUrl}api/status`, { headers: { Accept: 'application/json' } });
    if (answer.status !== NOT_RUNNING) return null;
    const { detail } = (await answer.json()) as Problem;
    return typeof detail === 'string' ? translate(detail) : messages.ended;
  } catch {
    return null;
  }
}

interface Lost {
  dialogs: Dialogs;
  watch: () => SessionWatch | null;
  baseUrl: string;
  tabs?: Tabs;
  why?: typeof whyEnded;
}

/** Return the handler that JupyterLab calls for each request that fails. It shows one dialog at a
 * time. */
export function connectionLost(lost: Lost): () => Promise<void> {
  const { dialogs, watch, baseUrl, tabs = browserTabs, why = whyEnded } = lost;
  let open = false;
  return async () => {
    if (open) return;
    open = true;
    try {
      await show(dialogs, watch()?.facts?.pages.start_again, tabs, await why(baseUrl));
    } finally {
      open = false;
    }
  };
}

async function show(
  { showDialog, Dialog }: Dialogs,
  restartUrl: string | undefined,
  tabs: Tabs,
  why: string | null,
): Promise<void> {
  const restart = why !== null && restartUrl !== undefined;
  const close = Dialog.cancelButton({ label: messages.dismiss });
  const { button } = await showDialog({
    title: why === null ? messages.silentTitle : messages.endedTitle,
    body: why ?? messages.silent,
    buttons: restart ? [close, Dialog.okButton({ label: messages.startAgain })] : [close],
  });
  if (restart && button.accept) tabs.open(restartUrl);
}
