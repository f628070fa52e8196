import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '@/api/problem';
import type { Estimate, Resources } from '@/api/types';
import { translate } from '@/i18n/translate';
import { duration, localTime } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { estimateQuery, type Forecast } from './queries';
import classes from './StartEstimate.module.css';

const TYPED_MS = 700;
const AT_ONCE_MS = 60_000;

interface Props {
  ask: Forecast;
  possible: boolean;
  /** the estimate without Slurm, unless Slurm rejects the request */
  lead?: ReactNode;
  onChoose: (resources: Resources) => void;
}

/** When it would start, and what would start earlier. */
export function StartEstimate({ ask, possible, lead, onChoose }: Props) {
  const [asked] = useDebouncedValue(JSON.stringify(ask), TYPED_MS);
  const { data, error } = useQuery({
    ...estimateQuery(JSON.parse(asked) as Forecast),
    enabled: possible,
  });
  if (!possible)
    return (
      <p className={`${classes.estimate} ${classes.why}`} role="status">
        <Trans>Fix the fields marked above.</Trans>
      </p>
    );
  return (
    <>
      {!(error && isRefusal(error)) && lead}
      <div className={classes.estimate} role="status">
        {error ? (
          <p className={isRefusal(error) ? classes.why : classes.quiet}>{errorText(error)}</p>
        ) : data === undefined ? (
          <p className={classes.quiet}>
            <Trans>Asking Slurm when it would start…</Trans>
          </p>
        ) : (
          <Forecasted estimate={data} onChoose={onChoose} />
        )}
      </div>
    </>
  );
}

const isRefusal = (error: Error): boolean =>
  error instanceof ApiError && [409, 422].includes(error.status);

/** What Slurm refuses outright is worth its words; a forecast that can't be had is no trouble. */
function errorText(error: Error): string {
  return isRefusal(error) ? translate(error.message) : t`No start estimate is available.`;
}

/** Null: at once. */
function later(startAt: string, now: number): { time: string; span: string } | null {
  const inMs = Date.parse(startAt) - now;
  if (inMs < AT_ONCE_MS) return null;
  return { time: localTime(startAt, now), span: duration(inMs) };
}

function startSentence(startAt: string, certain: boolean, now: number): string {
  const when = later(startAt, now);
  if (when === null) return certain ? t`Starts at once.` : t`Would start at once.`;
  const { time, span } = when;
  return certain
    ? t`Starts around ${time}, in ${span}.`
    : t`Would start around ${time}, in ${span}.`;
}

export function startText(startAt: string, now: number): string {
  const when = later(startAt, now);
  if (when === null) return t`at once`;
  const { time, span } = when;
  return t`around ${time}, in ${span}`;
}

interface ForecastedProps {
  estimate: Estimate;
  onChoose: (resources: Resources) => void;
}

function Forecasted({ estimate, onChoose }: ForecastedProps) {
  const now = useNow();
  return (
    <>
      <p>
        {estimate.start_at && (
          <strong>{startSentence(estimate.start_at, estimate.certain, now)} </strong>
        )}
        <span className={classes.quiet}>{translate(estimate.note)}</span>
      </p>
      {estimate.alternatives.length > 0 && (
        <ul className={classes.alternatives}>
          {estimate.alternatives.map((other) => (
            <li key={other.title}>
              <Button size="compact-sm" variant="default" onClick={() => onChoose(other.resources)}>
                {translate(other.title)}
              </Button>
              <span className={classes.quiet}>{startText(other.start_at, now)}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
