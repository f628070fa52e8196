import { Button } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { ApiError } from '@/api/problem';
import type { Estimate, Resources } from '@/api/types';
import { duration, localTime } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { estimateQuery, type Forecast } from './queries';
import classes from './SubmitPage.module.css';

const TYPED_MS = 700;

interface Props {
  ask: Forecast;
  possible: boolean;
  onChoose: (resources: Resources) => void;
}

/** When it would start, and what would start earlier. */
export function StartEstimate({ ask, possible, onChoose }: Props) {
  const [asked] = useDebouncedValue(JSON.stringify(ask), TYPED_MS);
  const { data, error } = useQuery({
    ...estimateQuery(JSON.parse(asked) as Forecast),
    enabled: possible,
  });
  if (!possible)
    return (
      <p className={`${classes.estimate} ${classes.why}`} role="status">
        Not possible like this: see above.
      </p>
    );
  return (
    <div className={classes.estimate} role="status">
      {error ? (
        <p className={classes.quiet}>{errorText(error)}</p>
      ) : data === undefined ? (
        <p className={classes.quiet}>Asking Slurm when it would start…</p>
      ) : (
        <Forecasted estimate={data} onChoose={onChoose} />
      )}
    </div>
  );
}

/** What Slurm refuses outright is worth its words; a forecast that can't be had is no trouble. */
function errorText(error: Error): string {
  const refused = error instanceof ApiError && [409, 422].includes(error.status);
  return refused ? error.message : 'No start estimate just now.';
}

function startText(startAt: string, now: number): string {
  const inMs = Date.parse(startAt) - now;
  return inMs < 60_000 ? 'at once' : `around ${localTime(startAt, now)}, in ${duration(inMs)}`;
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
          <strong>
            {estimate.certain ? 'Starts' : 'Would start'} {startText(estimate.start_at, now)}.{' '}
          </strong>
        )}
        <span className={classes.quiet}>{estimate.note}</span>
      </p>
      {estimate.alternatives.length > 0 && (
        <ul className={classes.alternatives}>
          {estimate.alternatives.map((other) => (
            <li key={other.title}>
              <Button size="compact-sm" variant="default" onClick={() => onChoose(other.resources)}>
                {other.title}
              </Button>
              <span className={classes.quiet}>{startText(other.start_at, now)}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
