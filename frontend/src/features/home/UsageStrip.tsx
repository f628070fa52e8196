import { t } from '@lingui/core/macro';
import { Paper, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { myLimitsQuery } from '@/features/limits/queries';
import { useLive } from '@/live/store';
import { UsedBar } from '@/ui/UsedBar';
import classes from './UsageStrip.module.css';
import { clusterCell, ownCells, type UsageCell } from './usageCells';

/** The present use of the user, of their groups and of the cluster, in one row. */
export function UsageStrip() {
  const cluster = useLive((s) => s.cluster);
  const { data, error } = useQuery(myLimitsQuery);
  return (
    <Paper component="ul" className={classes.strip} aria-label={t`In use now`}>
      {data
        ? ownCells(data, cluster).map((cell) => <Cell key={cell.key} cell={cell} />)
        : !error && (
            <li className={classes.cell}>
              <Skeleton height={40} aria-label={t`Loading`} />
            </li>
          )}
      <Cell cell={clusterCell(cluster)} />
    </Paper>
  );
}

function Cell({ cell: { name, text, used, total } }: { cell: UsageCell }) {
  return (
    <li className={classes.cell}>
      <span className={classes.name} title={name}>
        {name}
      </span>
      <span className={classes.figure} title={text}>
        {text}
      </span>
      {used !== null && total !== null && <UsedBar used={used} total={total} />}
    </li>
  );
}
