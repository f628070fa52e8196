import { Trans } from '@lingui/react/macro';
import { Paper, Title } from '@mantine/core';
import type { SharedLimit } from '@/api/types';
import classes from './Limits.module.css';
import { sharedCounting } from './labels';
import { UsageBars } from './UsageBars';

/** What someone shares with all members of their groups. */
export function GroupTotals({ together }: { together: readonly SharedLimit[] }) {
  return together.map(({ group, limit, use }) => (
    <Paper key={group} component="section" className={classes.card}>
      <Title order={2} size="h4" mb="sm">
        <Trans>All of {group} together</Trans>
      </Title>
      <UsageBars effective={sharedCounting(limit)} use={use} plain />
    </Paper>
  ));
}
