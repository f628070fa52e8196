import { Trans } from '@lingui/react/macro';
import type { Session } from '@/api/types';
import { CurveCharts } from '@/features/metrics/JobMetrics';
import { sessionCurvesQuery, useCurves } from '@/features/metrics/queries';
import classes from './SessionPage.module.css';

/** The metrics that the session's notebooks have logged, if there are any. */
export function SessionMetrics({ session }: { session: Session }) {
  const { data } = useCurves(session, sessionCurvesQuery(session.id));
  if (data === undefined || data.curves.length === 0) return null;
  return (
    <section aria-labelledby="metrics" className={classes.section}>
      <h2 id="metrics">
        <Trans>Metrics</Trans>
      </h2>
      <CurveCharts data={data} />
    </section>
  );
}
