import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useNow } from '@/lib/useNow';
import { metricText } from '@/ui/metricText';
import { useKeptDespiteIdle } from './keptIdle';
import { useTrend } from './recentUsage';
import classes from './TrendLine.module.css';
import { idleGpuText, sparklinePaths, sparklineText, trendText, type UsageTrend } from './trend';

interface Props {
  id: string;
  name: string;
  /** the button that ends it, beside the hint that its GPU is idle */
  stop: ReactNode;
  /** whether another part of the page already says that it is idle */
  hideIdleHint?: boolean;
}

/** The use of a running session or job in the last 15 minutes, and a hint if its GPU is idle. */
export function TrendLine({ id, name, stop, hideIdleHint = false }: Props) {
  const now = useNow();
  const { trend, loading } = useTrend(id);
  const [keptAt, keep] = useKeptDespiteIdle(id);
  const idle = hideIdleHint ? null : idleGpuText(trend, keptAt, now);
  return (
    <div className={classes.line}>
      <Sparkline trend={trend} />
      <span className={idle === null ? classes.text : classes.idle}>
        {idle ?? (loading ? null : trendText(trend))}
      </span>
      {trend?.metric && (
        <span className={classes.metric}>
          {trend.metric.tag} {metricText(trend.metric.value)}
        </span>
      )}
      {idle !== null && (
        <span className={classes.actions}>
          {stop}
          <Button
            size="compact-sm"
            variant="subtle"
            color="gray"
            aria-label={t`Keep running: ${name}`}
            onClick={() => keep(now)}
          >
            <Trans>Keep running</Trans>
          </Button>
        </span>
      )}
    </div>
  );
}

function Sparkline({ trend }: { trend: UsageTrend | undefined }) {
  const values = trend?.percent ?? [];
  return (
    <svg
      className={classes.chart}
      viewBox={`0 -4 ${Math.max(1, values.length)} 108`}
      preserveAspectRatio="none"
      role="img"
      aria-label={sparklineText(trend)}
    >
      {sparklinePaths(values).map((path) => (
        <path key={path} d={path} />
      ))}
    </svg>
  );
}
