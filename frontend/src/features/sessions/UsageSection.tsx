import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { errorMessage } from '@/api/problem';
import type { Session } from '@/api/types';
import { missingChartTexts, type NodeUsage, usageCharts } from '@/features/measurements/charts';
import { UsageCharts } from '@/features/measurements/UsageCharts';
import { useNow } from '@/lib/useNow';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { TryAgain } from '@/ui/TryAgain';
import { MEASURE_EVERY_MS, sessionUsageQuery } from './queries';
import pageClasses from './SessionPage.module.css';
import type { SessionUsage } from './types';
import classes from './Usage.module.css';
import { totals, usageNote } from './usage';

const NOTHING: SessionUsage = {
  reported_at: null,
  step_s: null,
  at: [],
  memory_mb: [],
  cpus: [],
  memory_limit_mb: null,
  gpus: null,
  memory_killed_at: null,
  total: null,
};

/** Accounting may take this long after the end. */
const SETTLES_MS = 120_000;

function pollInterval(session: Session, usage: SessionUsage | undefined): number | false {
  if (session.state !== 'ended') return MEASURE_EVERY_MS;
  const since = session.ended_at ? Date.now() - Date.parse(session.ended_at) : SETTLES_MS;
  return usage?.total || since > SETTLES_MS ? false : MEASURE_EVERY_MS;
}

/** Current and past usage of the session, as far as it is measured. */
export function UsageSection({ session }: { session: Session }) {
  const { data, error, refetch } = useQuery({
    ...sessionUsageQuery(session.id),
    refetchInterval: ({ state }) => pollInterval(session, state.data),
  });
  return (
    <section aria-labelledby="use" className={pageClasses.section}>
      <h2 id="use">{t`Usage`}</h2>
      {error && data === undefined ? (
        <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />
      ) : (
        <Figures session={session} usage={data ?? NOTHING} loading={data === undefined} />
      )}
    </section>
  );
}

interface FiguresProps {
  session: Session;
  usage: SessionUsage;
  loading: boolean;
}

function Figures({ session, usage, loading }: FiguresProps) {
  const now = useNow();
  const isRunning = session.state === 'running' || session.state === 'suspended';
  const { cpus, memory_gb } = session.resources;
  const nodes = useMemo<NodeUsage[]>(() => [{ node: null, ...usage }], [usage]);
  const charts = useMemo(
    () => usageCharts(nodes, { cpus, memory_gb }, isRunning),
    [nodes, cpus, memory_gb, isRunning],
  );
  const note = loading ? t`Loading usage data…` : usageNote(usage, session, now);
  return (
    <>
      {usage.memory_killed_at && (
        <Notice tone="warning">
          <Trans>
            The session's memory ran out, and a program in it was killed{' '}
            <Time at={usage.memory_killed_at} />. A notebook's kernel that is killed starts again
            without its variables. Work on less data at once, or start a session with more memory.
          </Trans>
        </Notice>
      )}
      {note && <p className={classes.note}>{note}</p>}
      <UsageCharts charts={charts} />
      {missingChartTexts(nodes, session.resources.gpus).map((text) => (
        <p key={text} className={classes.note}>
          {text}
        </p>
      ))}
      {session.state === 'ended' && !loading && <Accounted session={session} usage={usage} />}
    </>
  );
}

/** The totals from Slurm's accounting, after the end. */
function Accounted({ session, usage }: { session: Session; usage: SessionUsage }) {
  if (session.started_at === null) return null;
  if (usage.total === null)
    return <p className={classes.note}>{t`Slurm's accounting has no record of it yet.`}</p>;
  return (
    <>
      <h3 className={pageClasses.small}>{t`Totals from Slurm's accounting`}</h3>
      <dl className={pageClasses.figures}>
        {totals(usage.total, session.resources).map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
