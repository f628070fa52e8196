import { Trans } from '@lingui/react/macro';
import { Paper, Title } from '@mantine/core';
import type { SharedLimit } from '@/api/types';
import classes from './Limits.module.css';
import { UseBars } from './UseBars';
import { sharedCounting } from './words';

/** What someone shares with all members of their groups. */
export function Together({ together }: { together: readonly SharedLimit[] }) {
  return together.map(({ group, limit, use }) => (
    <Paper key={group} component="section" className={classes.card}>
      <Title order={2} size="h4" mb="sm">
        <Trans>All of {group} together</Trans>
      </Title>
      <UseBars effective={sharedCounting(limit)} use={use} plain />
    </Paper>
  ));
}
