import { t } from '@lingui/core/macro';
import { Skeleton } from '@mantine/core';
import classes from './FormSkeleton.module.css';

/** A group of a form: cards to choose from, fields beside each other, or one wide field. */
type Shape = 'cards' | 'fields' | 'wide';

const HEIGHTS_PX: Readonly<Record<Shape, number>> = { cards: 130, fields: 58, wide: 58 };

/** The place of a form that is loading: its groups, each with a heading and so many fields. */
export function FormSkeleton({ groups }: { groups: readonly (readonly [Shape, number])[] }) {
  return (
    <div className={classes.form} role="status" aria-label={t`Loading`}>
      {groups.map(([shape, count], group) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the groups never move
        <div key={group} aria-hidden="true">
          <Skeleton className={classes.head} height={16} width="8rem" role="none" />
          <div className={classes[shape]}>
            {Array.from({ length: count }, (_, field) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: nor do the fields
              <Skeleton key={field} height={HEIGHTS_PX[shape]} radius="md" role="none" />
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}
