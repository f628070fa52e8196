/** What is said of several jobs at once. Pure. */
import type { Act } from './bulk';
import type { Possible } from './selection';

const jobs = (count: number): string => (count === 1 ? '1 job' : `${count.toLocaleString()} jobs`);

export function doneText(act: Act, count: number): string {
  return act === 'cancel' ? `${jobs(count)} cancelled.` : `${jobs(count)} removed from the list.`;
}

/** What the dialog asks; of all that match (`can` null) nobody knows yet which can be meant. */
export function questionText(act: Act, can: Possible | null, chosen: number): string {
  const files = 'Their files and logs stay where they are.';
  if (can === null) {
    return act === 'cancel'
      ? `Of the ${jobs(chosen)} that match, those that wait give up their place and those that run end now. Those that have ended stay as they are.`
      : `Of the ${jobs(chosen)} that match, those that have ended leave the list. ${files}`;
  }
  const meant = can[act].length;
  const others = chosen - meant;
  const left = others === 0 ? '' : ` The other ${others.toLocaleString()} stay as they are.`;
  return act === 'cancel'
    ? `${jobs(meant)}: what waits gives up its place, and what runs ends now.${left}`
    : `${jobs(meant)} that ended. ${files}${left}`;
}
