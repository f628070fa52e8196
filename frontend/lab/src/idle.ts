/** That nothing has run for long: said once, until it is busy again. Nothing is ended for it. */
import type { Acts } from './acts';
import type { Notifications } from './jupyter';
import { duration } from './time';
import type { Watch } from './watch';
import { words } from './words';

export class IdleWarning {
  /** The rest that was told last, by its beginning: of the same one nothing more is said. */
  #told: string | null = null;
  #warning: string | undefined;

  constructor(
    readonly watch: Watch,
    readonly acts: Acts,
    readonly notify: Notifications | undefined,
  ) {
    watch.onChange(() => this.#look());
  }

  #look(): void {
    const { idleSince } = this.watch;
    if (idleSince === null) this.#dismiss();
    if (idleSince === null || idleSince === this.#told) return;
    this.#dismiss();
    this.#told = idleSince;
    this.#warning = this.#say(idleSince);
  }

  #dismiss(): void {
    if (this.#warning !== undefined) this.notify?.dismiss(this.#warning);
    this.#warning = undefined;
  }

  #say(since: string): string | undefined {
    const resources = this.watch.facts?.session.resources;
    const time = duration(this.watch.nowMs - Date.parse(since));
    return this.notify?.warning(words.idle(time, resources?.gpus ?? 0, resources?.cpus ?? 1), {
      autoClose: false,
      actions: [
        { label: words.stop, callback: () => this.acts.back() },
        { label: words.keep, callback: () => void this.acts.keep() },
      ],
    });
  }
}
