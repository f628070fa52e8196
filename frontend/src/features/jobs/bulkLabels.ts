/** Labels of bulk operations on jobs. Pure. */
import { plural, t } from '@lingui/core/macro';
import { joinSentences } from '@/i18n/lists';
import type { BulkAction } from './bulk';
import type { ActionTargets } from './selection';

export function doneText(action: BulkAction, count: number): string {
  return action === 'cancel'
    ? plural(count, { one: '# job cancelled.', other: '# jobs cancelled.' })
    : plural(count, {
        one: '# job removed from the list.',
        other: '# jobs removed from the list.',
      });
}

/**
 * Return the dialog's question. If all matching jobs are selected (`targets` is null), it is unknown how
 * many of them the action applies to.
 */
export function questionText(
  action: BulkAction,
  targets: ActionTargets | null,
  chosen: number,
): string {
  const files = t`Their files and logs stay where they are.`;
  if (targets === null) {
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
  const affected = targets[action].length;
  const others = chosen - affected;
  const othersText = plural(others, {
    one: 'The other one stays as it is.',
    other: 'The other # stay as they are.',
  });
  const affectedTexts =
    action === 'cancel'
      ? [
          plural(affected, {
            one: '# job: queued jobs lose their place in the queue, and running jobs end now.',
            other: '# jobs: queued jobs lose their place in the queue, and running jobs end now.',
          }),
        ]
      : [plural(affected, { one: '# job that ended.', other: '# jobs that ended.' }), files];
  return joinSentences(others === 0 ? affectedTexts : [...affectedTexts, othersText]);
}
