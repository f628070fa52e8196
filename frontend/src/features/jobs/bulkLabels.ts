/** Labels of bulk operations on jobs. Pure. */
import { plural, t } from '@lingui/core/macro';
import { joinSentences } from '@/i18n/lists';
import type { BulkAction } from './bulk';
import type { Possible } from './selection';

export function doneText(action: BulkAction, count: number): string {
  return action === 'cancel'
    ? plural(count, { one: '# job cancelled.', other: '# jobs cancelled.' })
    : plural(count, {
        one: '# job removed from the list.',
        other: '# jobs removed from the list.',
      });
}

/**
 * Return the dialog's question. If all matching jobs are selected (`can` is null), it is unknown how
 * many of them the action applies to.
 */
export function questionText(action: BulkAction, can: Possible | null, chosen: number): string {
  const files = t`Their files and logs stay where they are.`;
  if (can === null) {
    return action === 'cancel'
      ? plural(chosen, {
          one: 'Of the # job that match, those that are queued lose their place in the queue and those that are running end now. Those that have ended stay as they are.',
          other:
            'Of the # jobs that match, those that are queued lose their place in the queue and those that are running end now. Those that have ended stay as they are.',
        })
      : joinSentences([
          plural(chosen, {
            one: 'Of the # job that match, those that have ended are removed from the list.',
            other: 'Of the # jobs that match, those that have ended are removed from the list.',
          }),
          files,
        ]);
  }
  const meant = can[action].length;
  const others = chosen - meant;
  const left = plural(others, {
    one: 'The other one stays as it is.',
    other: 'The other # stay as they are.',
  });
  const first =
    action === 'cancel'
      ? [
          plural(meant, {
            one: '# job: queued jobs lose their place in the queue, and running jobs end now.',
            other: '# jobs: queued jobs lose their place in the queue, and running jobs end now.',
          }),
        ]
      : [plural(meant, { one: '# job that ended.', other: '# jobs that ended.' }), files];
  return joinSentences(others === 0 ? first : [...first, left]);
}
