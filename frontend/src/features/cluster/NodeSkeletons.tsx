import { Skeleton } from '@mantine/core';
import classes from './ClusterPanel.module.css';

/** Space for this many nodes of the panel until they have arrived. */
export function NodeSkeletons({ count }: { count: number }) {
  return (
    <ul>
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no identity
        <Skeleton key={index} component="li" className={classes.placeholder} />
      ))}
    </ul>
  );
}
