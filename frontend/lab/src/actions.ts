/** The user's actions in JupyterLab: extend the session, open TensorBoard, run the notebook as a
 * job, return to the session's page. */

import { openTab } from '@/features/apps/openTab';
import { extensionChoices } from '@/features/sessions/extend';
import { translate } from '@/i18n/translate';
import type { Application, NotebookPanel, Notifications } from './jupyter';
import { messages } from './messages';
import { runAddress } from './notebook';
import { duration, localTime, warningDue } from './time';
import type { SessionWatch } from './watch';

const READ_MS = 10_000;

/** Tabs, as the browser opens them. */
export interface Tabs {
  /** Open a tab that cannot access this one. */
  open(url: string): void;
  /** Open a tab that cannot access this one, some seconds after a click; return whether the browser
   * permits it. */
  attempt(url: string): boolean;
  /** Open an empty tab now and set its address later: browsers only open tabs during a click. */
  ahead(): { go(url: string): void; close(): void };
}

export const browserTabs: Tabs = {
  open: (url) => void window.open(url, '_blank', 'noopener'),
  attempt: openTab,
  ahead: () => {
    const tab = window.open('about:blank', '_blank');
    if (tab) tab.opener = null;
    return { go: (url) => tab?.location.replace(url), close: () => tab?.close() };
  },
};

export class Actions {
  #extending = false;
  #warning: string | undefined;
  #warned: { end: string; due: number } | null = null;

  constructor(
    readonly watch: SessionWatch,
    readonly notify: Notifications | undefined,
    readonly contents: Application['serviceManager']['contents'],
    readonly tabs: Tabs = browserTabs,
  ) {
    watch.onChange(() => this.#warn());
  }

  /** Minutes that can be added, ascending; empty if the session cannot be extended. */
  get choices(): number[] {
    return extensionChoices(this.watch.facts?.session.extension?.minutes ?? 0);
  }

  async extend(minutes: number): Promise<void> {
    if (this.#extending) return;
    this.#extending = true;
    try {
      const facts = await this.watch.server.extend(minutes);
      this.watch.applyFacts(facts);
      const end = facts.session.expires_at;
      if (end) this.notify?.success(messages.extended(localTime(end, this.watch.browser.now())));
    } catch (error) {
      this.#showError(error);
    } finally {
      this.#extending = false;
    }
  }

  /** Open TensorBoard's page in the portal, which shows the startup progress and then redirects. */
  async tensorboard(): Promise<void> {
    const page = this.watch.facts?.pages.tensorboard;
    if (page === undefined) return;
    this.tabs.open(page);
    try {
      await this.watch.server.startTensorboard();
    } catch (error) {
      this.#showError(error);
    }
  }

  /** Save the notebook, then open the form that runs it as a job. */
  async runNotebook(panel: NotebookPanel | null): Promise<void> {
    const form = this.watch.facts?.pages.run_notebook;
    if (form === undefined || panel === null) return;
    const { context, sessionContext } = panel;
    if (this.contents.driveName(context.path) !== '') {
      this.notify?.warning(messages.notInHome, { autoClose: READ_MS });
      return;
    }
    const kernel = sessionContext.session?.kernel?.name ?? sessionContext.kernelPreference.name;
    const path = this.contents.localPath(context.path);
    const environment = kernel ?? this.watch.facts?.session.environment ?? null;
    const tab = this.tabs.ahead();
    try {
      if (context.model.dirty) await context.save();
    } catch {
      tab.close();
      this.notify?.error(messages.notSaved, { autoClose: READ_MS });
      return;
    }
    tab.go(runAddress(form, path, environment));
  }

  /** Open the session's own page in the portal. */
  back(): void {
    const page = this.watch.facts?.pages.session;
    if (page !== undefined) this.tabs.open(page);
  }

  /** Open that page with the question whether to stop the session. */
  stop(): void {
    const page = this.watch.facts?.pages.session;
    if (page !== undefined) this.tabs.open(`${page}?stop=true`);
  }

  /** Keep the session running though it is idle; the server informs every other tab. */
  async keep(): Promise<void> {
    this.watch.keep();
    try {
      await this.watch.server.keep();
    } catch (error) {
      this.#showError(error);
    }
  }

  /** Warn a quarter of an hour and five minutes before the end; a new end resets the warnings. */
  #warn(): void {
    const { facts, leftMs } = this.watch;
    const end = facts?.session.expires_at;
    if (!end || leftMs === null) return;
    if (this.#warned?.end !== end) {
      this.#dismiss();
      this.#warned = null;
    }
    const due = warningDue(leftMs, this.#warned?.due ?? null);
    if (due === null) return;
    this.#dismiss();
    this.#warned = { end, due };
    const [minutes] = this.choices;
    this.#warning = this.notify?.warning(messages.warning(duration(leftMs)), {
      autoClose: false,
      actions:
        minutes === undefined
          ? []
          : [{ label: messages.extend(minutes), callback: () => void this.extend(minutes) }],
    });
  }

  #dismiss(): void {
    if (this.#warning !== undefined) this.notify?.dismiss(this.#warning);
    this.#warning = undefined;
  }

  #showError(error: unknown): void {
    const text = error instanceof Error ? translate(error.message) : messages.noAnswer;
    this.notify?.error(text, { autoClose: READ_MS });
  }
}
