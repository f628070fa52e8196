/** The server's clock: corrects the browser's clock if it differs noticeably. Pure but for its one
 * offset. */

/** `Date` headers are in whole seconds and arrive with a delay, so small differences mean nothing. */
const TOLERANCE_MS = 3000;

export class Clock {
  private offsetMs = 0;

  /** Update the offset from a response's `Date` header. */
  learn(dateHeader: string | null, nowMs: number): void {
    if (dateHeader === null) return;
    const server = Date.parse(dateHeader);
    if (Number.isNaN(server)) return;
    const difference = server - nowMs;
    this.offsetMs = Math.abs(difference) > TOLERANCE_MS ? difference : 0;
  }

  now(nowMs: number = Date.now()): number {
    return nowMs + this.offsetMs;
  }
}

export const clock = new Clock();
