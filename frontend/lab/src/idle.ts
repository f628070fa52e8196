/**
 * The warning about a long idle period: shown once until the session is busy again. It ends
 * nothing.
 */
import type { Actions } from './actions';
import type { Notifications } from './jupyter';
import { messages } from './messages';
import { duration } from './time';
import type { SessionWatch } from './watch';

export class IdleWarning {
  /** The start of the last idle period that was announced; each is announced once. */
  #announced: string | null = null;
  #warning: string | undefined;

  constructor(
    readonly watch: SessionWatch,
    readonly acts: Actions,
    readonly notify: Notifications | undefined,
  ) {
    watch.onChange(() => this.#update());
  }

  #update(): void {
    const { idleSince } = this.watch;
    if (idleSince === null) this.#dismiss();
    if (idleSince === null || idleSince === this.#announced) return;
    this.#dismiss();
    this.#announced = idleSince;
    this.#warning = this.#showWarning(idleSince);
  }

  #dismiss(): void {
    if (this.#warning !== undefined) this.notify?.dismiss(this.#warning);
    this.#warning = undefined;
  }

  #showWarning(since: string): string | undefined {
    const resources = this.watch.facts?.session.resources;
    const time = duration(this.watch.nowMs - Date.parse(since));
    return this.notify?.warning(messages.idle(time, resources?.gpus ?? 0, resources?.cpus ?? 1), {
      autoClose: false,
      actions: [
        { label: messages.stop, callback: () => this.acts.stop() },
        { label: messages.keep, callback: () => void this.acts.keep() },
      ],
    });
  }
}
