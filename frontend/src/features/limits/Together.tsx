import { Paper, Title } from '@mantine/core';
import type { SharedLimit } from '@/api/types';
import classes from './Limits.module.css';
import { UseBars } from './UseBars';
import { sharedCounting } from './words';

/** What someone shares with all members of their groups. */
export function Together({ together }: { together: readonly SharedLimit[] }) {
  return together.map((shared) => (
    <Paper key={shared.group} component="section" className={classes.card}>
      <Title order={2} size="h4" mb="sm">
        All of {shared.group} together
      </Title>
      <UseBars effective={sharedCounting(shared.limit)} use={shared.use} plain />
    </Paper>
  ));
}
