import { t } from '@lingui/core/macro';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { sentence } from '@/api/problem';
import type { Session } from '@/api/types';
import { useNow } from '@/lib/useNow';
import { Notice } from '@/ui/Notice';
import { LOOK_EVERY_MS, sessionUseQuery } from './queries';
import pageClasses from './SessionPage.module.css';
import type { SessionUse } from './shapes';
import classes from './Use.module.css';
import { UseChart } from './UseChart';
import { absences, charts, remark, totals } from './use';

const NOTHING: SessionUse = {
  told_at: null,
  step_s: null,
  at: [],
  memory_mb: [],
  cpus: [],
  memory_limit_mb: null,
  gpus: null,
  total: null,
};

/** After the end accounting needs a moment. */
const SETTLES_MS = 120_000;

function lookAgainIn(session: Session, use: SessionUse | undefined): number | false {
  if (session.state !== 'ended') return LOOK_EVERY_MS;
  const since = session.ended_at ? Date.now() - Date.parse(session.ended_at) : SETTLES_MS;
  return use?.total || since > SETTLES_MS ? false : LOOK_EVERY_MS;
}

/** What the session uses and has used, as far as anybody measures it. */
export function UseSection({ session }: { session: Session }) {
  const { data, error } = useQuery({
    ...sessionUseQuery(session.id),
    refetchInterval: ({ state }) => lookAgainIn(session, state.data),
  });
  return (
    <section aria-labelledby="use" className={pageClasses.section}>
      <h2 id="use">{session.state === 'ended' ? t`What it used` : t`What it uses`}</h2>
      {error && data === undefined ? (
        <Notice tone="error">{sentence(error)}</Notice>
      ) : (
        <Figures session={session} use={data ?? NOTHING} loading={data === undefined} />
      )}
    </section>
  );
}

interface FiguresProps {
  session: Session;
  use: SessionUse;
  loading: boolean;
}

function Figures({ session, use, loading }: FiguresProps) {
  const now = useNow();
  const live = session.state === 'running' || session.state === 'suspended';
  const drawn = useMemo(() => charts(use, session.resources, live), [use, session.resources, live]);
  const said = loading ? t`Reading what was measured…` : remark(use, session, now);
  return (
    <>
      {said && <p className={classes.note}>{said}</p>}
      <div className={classes.charts}>
        {drawn.map((chart) => (
          <UseChart key={chart.key} at={use.at} chart={chart} />
        ))}
      </div>
      {absences(use, session.resources.gpus).map((text) => (
        <p key={text} className={classes.note}>
          {text}
        </p>
      ))}
      {session.state === 'ended' && !loading && <Accounted session={session} use={use} />}
    </>
  );
}

/** Slurm's own word, after the end. */
function Accounted({ session, use }: { session: Session; use: SessionUse }) {
  if (session.started_at === null) return null;
  if (use.total === null)
    return <p className={classes.note}>{t`Slurm’s accounting says nothing of it yet.`}</p>;
  return (
    <>
      <h3 className={pageClasses.small}>{t`In all, as Slurm’s accounting has it`}</h3>
      <dl className={pageClasses.figures}>
        {totals(use.total, session.resources).map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
