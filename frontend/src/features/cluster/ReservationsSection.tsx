import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Skeleton } from '@mantine/core';
import { errorMessage } from '@/api/problem';
import { Term } from '@/features/glossary/Term';
import { dateLocale } from '@/i18n';
import { joinWithCommas } from '@/i18n/lists';
import { useNow } from '@/lib/useNow';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import classes from './Cluster.module.css';
import { reservationNodes, reservationSuggestion, reservationTitle } from './labels';
import { DAY, spanOf, ticks, timelineLength } from './timeline';
import type { Reservation, Reservations } from './types';

interface Props {
  reservations: Reservations | undefined;
  error: Error | null;
}

/** Maintenance and reservations, as a timeline and as text. */
export function ReservationsSection({ reservations, error }: Props) {
  return (
    <section className={classes.section} aria-labelledby="reservations-title">
      <h2 id="reservations-title" className={classes.title}>
        <Trans>Maintenance and reservations</Trans>
      </h2>
      {error && !reservations && <Notice tone="error">{errorMessage(error)}</Notice>}
      {!error && !reservations && <Skeleton height={80} radius="lg" aria-label={t`Loading`} />}
      {reservations && !reservations.known && (
        <p className={classes.quiet}>
          <Trans>Slurm has not reported any reservations yet.</Trans>
        </p>
      )}
      {reservations?.stale_since && (
        <p className={classes.quiet}>
          <Trans>
            Slurm doesn't answer. This is from its last report:{' '}
            <Time at={reservations.stale_since} />
          </Trans>
        </p>
      )}
      {reservations?.known && reservations.items.length === 0 && (
        <p className={classes.quiet}>
          <Trans>
            No maintenance and no <Term word="Reservation">reservation</Term> is planned.
          </Trans>
        </p>
      )}
      {reservations && reservations.items.length > 0 && <Timeline items={reservations.items} />}
    </section>
  );
}

/** The timeline moves each minute, not each second. */
const MINUTE = 60_000;

function Timeline({ items }: { items: readonly Reservation[] }) {
  const now = Math.floor(useNow() / MINUTE) * MINUTE;
  const lengthMs = timelineLength(items, now);
  return (
    <Paper className={classes.timeline}>
      <ul className={classes.plans}>
        {items.map((reservation) => (
          <ReservationItem
            key={`${reservation.start} ${reservation.end} ${reservation.nodes.join()}`}
            reservation={reservation}
            now={now}
            lengthMs={lengthMs}
          />
        ))}
      </ul>
      <div className={classes.ticks} aria-hidden="true">
        <span style={{ left: 0 }}>
          <Trans>now</Trans>
        </span>
        {ticks(now, lengthMs).map((at) => (
          <span key={at} style={{ left: `${(100 * (at - now)) / lengthMs}%` }}>
            {tickText(at, lengthMs)}
          </span>
        ))}
      </div>
    </Paper>
  );
}

function tickText(at: number, lengthMs: number): string {
  const date = new Date(at);
  return lengthMs > 2 * DAY
    ? date.toLocaleDateString(dateLocale(), { day: 'numeric', month: 'short' })
    : date.toLocaleTimeString(dateLocale(), { hour: '2-digit', minute: '2-digit' });
}

function ReservationItem({
  reservation,
  now,
  lengthMs,
}: {
  reservation: Reservation;
  now: number;
  lengthMs: number;
}) {
  const span = spanOf(reservation, now, lengthMs);
  const begun = Date.parse(reservation.start) <= now;
  return (
    <li>
      <p className={classes.plan}>
        <strong>{reservationTitle(reservation)}</strong>
        <span>
          <Time at={reservation.start} /> – <Time at={reservation.end} />
        </span>
        <span className={classes.quiet}>{reservationNodes(reservation)}</span>
        {reservation.kept_for && reservation.kept_for.length > 0 && (
          <span
            className={classes.quiet}
          >{t`for ${{ users: joinWithCommas(reservation.kept_for) }}`}</span>
        )}
      </p>
      <div className={classes.rail} aria-hidden="true">
        {span && (
          <span
            data-maintenance={reservation.maintenance}
            data-mine={reservation.mine}
            style={{ left: `${100 * span.from}%`, width: `${100 * span.length}%` }}
          />
        )}
      </div>
      <p className={classes.quiet}>{reservationSuggestion(reservation, begun)}</p>
    </li>
  );
}
