import { t } from '@lingui/core/macro';
import { Skeleton } from '@mantine/core';
import classes from './FormSkeleton.module.css';

/** A group of a form: cards to choose from, fields beside each other, or one wide field. */
type Shape = 'cards' | 'fields' | 'wide';

const HEIGHTS_PX: Readonly<Record<Shape, number>> = { cards: 130, fields: 76, wide: 76 };

/** A group's shape, the number of its fields, and their height. */
type Group = readonly [Shape, number, heightPx?: number];

/** A placeholder for a form that is loading: its groups with their fields. `bare`: without headings. */
export function FormSkeleton({ groups, bare }: { groups: readonly Group[]; bare?: boolean }) {
  return (
    <div className={classes.form} role="status" aria-label={t`Loading`}>
      {groups.map(([shape, count, heightPx = HEIGHTS_PX[shape]], group) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the groups never move
        <div key={group} aria-hidden="true">
          {!bare && <Skeleton className={classes.head} height={16} width="8rem" role="none" />}
          <div className={classes[shape]}>
            {Array.from({ length: count }, (_, field) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: nor do the fields
              <Skeleton key={field} height={heightPx} radius="md" role="none" />
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}
