/** What is said of several jobs at once. Pure. */
import { plural, t } from '@lingui/core/macro';
import { sentences } from '@/i18n/lists';
import type { Act } from './bulk';
import type { Possible } from './selection';

export function doneText(act: Act, count: number): string {
  return act === 'cancel'
    ? plural(count, { one: '# job cancelled.', other: '# jobs cancelled.' })
    : plural(count, {
        one: '# job removed from the list.',
        other: '# jobs removed from the list.',
      });
}

/** What the dialog asks; of all that match (`can` null) nobody knows yet which can be meant. */
export function questionText(act: Act, can: Possible | null, chosen: number): string {
  const files = t`Their files and logs stay where they are.`;
  if (can === null) {
    return act === 'cancel'
      ? plural(chosen, {
          one: 'Of the # job that match, those that wait give up their place and those that run end now. Those that have ended stay as they are.',
          other:
            'Of the # jobs that match, those that wait give up their place and those that run end now. Those that have ended stay as they are.',
        })
      : sentences([
          plural(chosen, {
            one: 'Of the # job that match, those that have ended leave the list.',
            other: 'Of the # jobs that match, those that have ended leave the list.',
          }),
          files,
        ]);
  }
  const meant = can[act].length;
  const others = chosen - meant;
  const left = plural(others, {
    one: 'The other one stays as it is.',
    other: 'The other # stay as they are.',
  });
  const first =
    act === 'cancel'
      ? [
          plural(meant, {
            one: '# job: what waits gives up its place, and what runs ends now.',
            other: '# jobs: what waits gives up its place, and what runs ends now.',
          }),
        ]
      : [plural(meant, { one: '# job that ended.', other: '# jobs that ended.' }), files];
  return sentences(others === 0 ? first : [...first, left]);
}
