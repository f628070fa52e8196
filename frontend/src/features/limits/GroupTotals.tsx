import { Trans } from '@lingui/react/macro';
import { Paper, Title } from '@mantine/core';
import type { GroupTotal } from '@/api/types';
import classes from './Limits.module.css';
import { groupTotalValues } from './labels';
import { UsageBars } from './UsageBars';

/** The group totals that apply to a user, with the usage of all members. */
export function GroupTotals({ totals }: { totals: readonly GroupTotal[] }) {
  return totals.map(({ group, limit, use }) => (
    <Paper key={group} component="section" className={classes.card}>
      <Title order={2} size="h4" mb="sm">
        <Trans>All of {group} together</Trans>
      </Title>
      <UsageBars effective={groupTotalValues(limit)} use={use} onlyLimited />
    </Paper>
  ));
}
