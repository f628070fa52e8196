/** The user's actions on a job in JupyterLab, and the notifications of jobs that have ended. */
import { browserTabs, type Tabs } from './actions';
import type { SessionJob } from './facts';
import { errorMessage, type JobWatch, stateText } from './jobs';
import type { Commands, Contents, Dialogs, Notifications } from './jupyter';
import { messages } from './messages';

const READ_MS = 10_000;
/** More jobs that end together are counted in one notification. */
export const MAX_NOTIFICATIONS = 2;
const OPEN_DOCUMENT = 'docmanager:open';

export interface JobServices {
  jobs: JobWatch;
  notify: Notifications | undefined;
  dialogs: Dialogs | undefined;
  contents: Contents;
  commands: Pick<Commands, 'execute'>;
  /** Show the panel, with the end of this job's log if one is given. */
  showPanel: (jobId?: string) => void;
  tabs?: Tabs;
}

export class JobActions {
  readonly #services: JobServices;
  readonly #tabs: Tabs;

  constructor(services: JobServices) {
    this.#services = services;
    this.#tabs = services.tabs ?? browserTabs;
    services.jobs.onEnded((ended) => this.#notifyEnded(ended));
  }

  openPage(job: SessionJob): void {
    this.#tabs.open(job.page);
  }

  /** Open the executed notebook here, or the job's page if JupyterLab can't reach the file. */
  async openNotebook(job: SessionJob): Promise<void> {
    const { contents, commands, notify } = this.#services;
    if (job.path !== null) {
      try {
        await contents.get(job.path, { content: false });
        await commands.execute(OPEN_DOCUMENT, { path: job.path });
        return;
      } catch {
        // it does not exist, or its folder is hidden from JupyterLab
      }
    }
    notify?.info(messages.notebookElsewhere, {
      autoClose: READ_MS,
      actions: [{ label: messages.openInPortal, callback: () => this.openPage(job) }],
    });
  }

  async cancel(job: SessionJob): Promise<void> {
    const { jobs, notify } = this.#services;
    if (!(await this.#confirm(job))) return;
    try {
      await jobs.server.cancelJob(job.id);
    } catch (error) {
      notify?.error(errorMessage(error), { autoClose: READ_MS });
    }
    await jobs.refresh();
  }

  async #confirm(job: SessionJob): Promise<boolean> {
    const { dialogs } = this.#services;
    if (dialogs === undefined) return false;
    const { Dialog, showDialog } = dialogs;
    const keep = Dialog.cancelButton({ label: messages.keepRunning });
    const cancel = Dialog.warnButton({ label: messages.cancelJob });
    const title = messages.cancelQuestion(job.name);
    const { button } = await showDialog({
      title,
      body: messages.cancelMeaning,
      buttons: [keep, cancel],
    });
    return button.accept;
  }

  #notifyEnded(ended: SessionJob[]): void {
    const { notify, showPanel } = this.#services;
    if (ended.length <= MAX_NOTIFICATIONS) {
      for (const job of ended) this.#notifyEnd(job);
      return;
    }
    notify?.info(messages.jobsEnded(ended.length), {
      autoClose: READ_MS,
      actions: [{ label: messages.showJobs, callback: () => showPanel() }],
    });
  }

  #notifyEnd(job: SessionJob): void {
    const { notify, showPanel } = this.#services;
    const openLog = { label: messages.openLog, callback: () => showPanel(job.id) };
    const openNotebook = {
      label: messages.openNotebook,
      callback: () => void this.openNotebook(job),
    };
    const text = messages.jobEnded(job.name, stateText(job));
    const actions = job.notebook === null ? [openLog] : [openNotebook, openLog];
    const options = { autoClose: READ_MS, actions } as const;
    if (job.outcome === 'completed') notify?.success(text, options);
    else if (job.outcome === 'cancelled') notify?.info(text, options);
    else notify?.error(text, options);
  }
}
