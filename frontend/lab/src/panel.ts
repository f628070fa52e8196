/** The side panel: curves of the session's usage, and the owner's jobs with the ends of their logs. */
import { plainOutput } from '@/lib/terminal';
import { curvesOf, drawCurve, textElement } from './curves';
import type { SessionJob, UsageSeries } from './facts';
import type { JobActions } from './jobActions';
import { errorMessage, type JobWatch, stateText, timeText } from './jobs';
import type { Widget } from './jupyter';
import { messages } from './messages';

import { details } from './usage';
import { ASK_EVERY_MS, type SessionWatch } from './watch';

const WINDOWS_MINUTES = [15, 60] as const;

function button(label: string, name: string, onClick: () => void): HTMLButtonElement {
  const element = textElement('button', label);
  element.type = 'button';
  element.setAttribute('aria-label', name);
  element.addEventListener('click', onClick);
  return element;
}

/** The curves, requested only while the panel is visible. */
export class UsageSection {
  readonly node = document.createElement('section');
  readonly #curves = document.createElement('div');
  readonly #choices: HTMLButtonElement[];
  #minutes: number = WINDOWS_MINUTES[0];
  #series: UsageSeries | null = null;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(readonly watch: SessionWatch) {
    this.#choices = WINDOWS_MINUTES.map((minutes) =>
      button(messages.lastMinutes(minutes), messages.lastMinutes(minutes), () => {
        this.#minutes = minutes;
        this.#draw();
      }),
    );
    const choices = document.createElement('div');
    choices.className = 'portal-choices';
    choices.setAttribute('role', 'group');
    choices.setAttribute('aria-label', messages.usagePeriod);
    choices.append(...this.#choices);
    this.node.append(textElement('h2', messages.usageTitle), choices, this.#curves);
    this.#draw();
  }

  /** Refresh the curves if they are due. */
  async refresh(): Promise<void> {
    const now = this.watch.browser.now();
    if (now - this.#askedAt < ASK_EVERY_MS || this.watch.browser.hidden()) return;
    this.#askedAt = now;
    try {
      this.#series = await this.watch.server.usage();
      this.#draw();
    } catch {
      // The last curves stay; the status bar reports a session that does not answer.
    }
  }

  #draw(): void {
    this.#choices.forEach((choice, index) => {
      choice.setAttribute('aria-pressed', String(WINDOWS_MINUTES[index] === this.#minutes));
    });
    const series = this.#series;
    const drawn =
      series === null
        ? [textElement('p', messages.noCurve)]
        : curvesOf(series).map((curve) => drawCurve(series.ages_s, curve, this.#minutes * 60));
    const [, ...lines] = details(this.watch.facts, this.watch.use).split('\n');
    this.#curves.replaceChildren(...drawn, ...lines.map((line) => textElement('p', line)));
  }
}

/** One job of the list. The log's end is requested when it is opened, and stays until it is closed. */
class JobRow {
  readonly node = document.createElement('li');
  readonly #state = document.createElement('span');
  readonly #time = document.createElement('span');
  readonly #log = document.createElement('pre');
  readonly #logButton: HTMLButtonElement;
  readonly #cancelButton: HTMLButtonElement;
  readonly #notebookButton: HTMLButtonElement;

  constructor(
    public job: SessionJob,
    readonly jobs: JobWatch,
    acts: JobActions,
  ) {
    const { name } = job;
    this.#logButton = button(messages.log, messages.logOf(name), () => void this.toggleLog());
    this.#logButton.hidden = job.array_size !== null;
    this.#cancelButton = button(messages.cancel, messages.cancelOf(name), () => {
      void acts.cancel(this.job);
    });
    this.#notebookButton = button(messages.notebook, messages.notebookOf(name), () => {
      void acts.openNotebook(this.job);
    });
    const page = button(messages.portal, messages.portalOf(name), () => acts.openPage(this.job));
    const actions = document.createElement('div');
    actions.className = 'portal-actions';
    actions.append(this.#logButton, this.#notebookButton, page, this.#cancelButton);
    const title = textElement('strong', name);
    title.title = name;
    const line = document.createElement('div');
    line.className = 'portal-state';
    line.append(this.#state, this.#time);
    this.#log.hidden = true;
    this.#log.tabIndex = 0;
    this.#log.setAttribute('aria-label', messages.logOf(name));
    this.node.append(title, line, actions, this.#log);
    this.update(job);
  }

  update(job: SessionJob): void {
    this.job = job;
    this.#state.textContent = stateText(job);
    this.#state.dataset.state = job.outcome ?? job.state;
    this.#time.textContent = timeText(job, this.jobs.nowMs);
    this.#cancelButton.hidden = job.state === 'ended' || job.state === 'stopping';
    this.#notebookButton.hidden = job.notebook === null || job.state !== 'ended';
    this.#logButton.setAttribute('aria-expanded', String(!this.#log.hidden));
    if (!this.#log.hidden && job.state !== 'ended') void this.#loadLog();
  }

  async toggleLog(open = this.#log.hidden): Promise<void> {
    this.#log.hidden = !open;
    this.#logButton.setAttribute('aria-expanded', String(open));
    if (open) await this.#loadLog();
  }

  focus(): void {
    this.node.scrollIntoView({ block: 'nearest' });
    this.#logButton.focus();
  }

  async #loadLog(): Promise<void> {
    if (this.#log.textContent === '') this.#log.textContent = messages.loading;
    try {
      const { text, cut } = await this.jobs.server.logEnd(this.job.id);
      const lines = plainOutput(text);
      this.#log.textContent = (cut ? '…\n' : '') + (lines || messages.emptyLog);
      this.#log.scrollTop = this.#log.scrollHeight;
    } catch (error) {
      this.#log.textContent = errorMessage(error);
    }
  }
}

/** The list of jobs. Rows are kept, so that a refresh moves neither the focus nor an open log. */
export class JobsSection {
  readonly node = document.createElement('section');
  readonly #list = document.createElement('ul');
  readonly #note = textElement('p', messages.loading);
  #rows = new Map<string, JobRow>();

  constructor(
    readonly jobs: JobWatch,
    readonly acts: JobActions,
  ) {
    this.#note.setAttribute('role', 'status');
    this.node.append(textElement('h2', messages.jobsTitle), this.#note, this.#list);
    jobs.onChange(() => this.#update());
  }

  /** Open the end of a job's log. */
  showLog(jobId: string): void {
    const row = this.#rows.get(jobId);
    if (row === undefined) return;
    void row.toggleLog(true);
    row.focus();
  }

  #update(): void {
    const { jobs, errorMessage } = this.jobs;
    this.#note.textContent = errorMessage ?? (jobs?.length === 0 ? messages.noJobs : '');
    this.#note.hidden = this.#note.textContent === '';
    const rows = (jobs ?? []).map((job) => this.#rowOf(job));
    this.#rows = new Map(rows.map((row) => [row.job.id, row]));
    const nodes = rows.map((row) => row.node);
    if (
      nodes.some((node, index) => this.#list.children[index] !== node) ||
      this.#list.children.length > nodes.length
    )
      this.#list.replaceChildren(...nodes);
  }

  #rowOf(job: SessionJob): JobRow {
    const row = this.#rows.get(job.id);
    row?.update(job);
    return row ?? new JobRow(job, this.jobs, this.acts);
  }
}

/** Fill the panel's node. Its curves are refreshed while it is visible, and its jobs when it is
 * opened, even by its tab. */
export function fillPanel(widget: Widget, watch: SessionWatch, jobs: JobsSection): void {
  const { node } = widget;
  node.classList.add('portal-panel'); // beside Lumino's own classes
  node.tabIndex = -1;
  node.setAttribute('role', 'region');
  node.setAttribute('aria-label', messages.panel);
  const usage = new UsageSection(watch);
  node.append(usage.node, jobs.node);
  let wasVisible = false;
  watch.onChange(() => {
    if (widget.isVisible) void usage.refresh();
    if (widget.isVisible && !wasVisible) void jobs.jobs.refresh();
    wasVisible = widget.isVisible;
  });
}
