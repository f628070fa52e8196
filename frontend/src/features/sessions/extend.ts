/** The choices of time to add to a session. Pure. */

const USUAL_MINUTES = [60, 120, 240, 480, 1440];
const MAX_CHOICES = 3;

/** Return the shortest usual extensions within the maximum, at most three; only the maximum if it is
 * less than an hour. */
export function extensionChoices(mostMinutes: number): number[] {
  const usual = USUAL_MINUTES.filter((minutes) => minutes <= mostMinutes);
  if (usual.length > 0) return usual.slice(0, MAX_CHOICES);
  return mostMinutes > 0 ? [mostMinutes] : [];
}
