import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '@/api/problem';
import type { Estimate, ResolvedResources } from '@/api/types';
import { translate } from '@/i18n/translate';
import { duration, localTime } from '@/lib/time';
import { SLURM_ESTIMATE_DELAY_MS } from '@/lib/typing';
import { useNow } from '@/lib/useNow';
import { type EstimateRequest, estimateQuery } from './queries';
import classes from './StartEstimate.module.css';

const IMMEDIATE_MS = 60_000;

interface Props {
  request: EstimateRequest;
  /** whether the form has no errors, so that Slurm can be asked */
  isValid: boolean;
  /** the portal's own estimate; hidden when Slurm rejects the request */
  lead?: ReactNode;
  onChoose: (resources: ResolvedResources) => void;
}

/** Slurm's start estimate of a request, with alternatives that start earlier. */
export function StartEstimate({ request, isValid, lead, onChoose }: Props) {
  const [settled] = useDebouncedValue(JSON.stringify(request), SLURM_ESTIMATE_DELAY_MS);
  const { data, error } = useQuery({
    ...estimateQuery(JSON.parse(settled) as EstimateRequest),
    enabled: isValid,
  });
  if (!isValid)
    return (
      <p className={`${classes.estimate} ${classes.why}`} role="status">
        <Trans>Correct the marked fields.</Trans>
      </p>
    );
  return (
    <>
      {!(error && isRejection(error)) && lead}
      <div className={classes.estimate} role="status">
        {error ? (
          <p className={isRejection(error) ? classes.why : classes.quiet}>{errorText(error)}</p>
        ) : data === undefined ? (
          <p className={classes.quiet}>
            <Trans>Asking Slurm when it would start…</Trans>
          </p>
        ) : (
          <EstimateDetails estimate={data} onChoose={onChoose} />
        )}
      </div>
    </>
  );
}

const isRejection = (error: Error): boolean =>
  error instanceof ApiError && [409, 422].includes(error.status);

/** Return Slurm's message for a rejection only: a missing estimate is not an error of the request. */
function errorText(error: Error): string {
  return isRejection(error) ? translate(error.message) : t`No start estimate is available.`;
}

/** Return the start time and the time until then; null if it starts immediately. */
function delayedStart(startAt: string, now: number): { time: string; span: string } | null {
  const inMs = Date.parse(startAt) - now;
  if (inMs < IMMEDIATE_MS) return null;
  return { time: localTime(startAt, now), span: duration(inMs) };
}

function startSentence(startAt: string, certain: boolean, now: number): string {
  const delayed = delayedStart(startAt, now);
  if (delayed === null) return certain ? t`Starts at once.` : t`Would start at once.`;
  const { time, span } = delayed;
  return certain
    ? t`Starts around ${time}, in ${span}.`
    : t`Would start around ${time}, in ${span}.`;
}

export function startText(startAt: string, now: number): string {
  const delayed = delayedStart(startAt, now);
  if (delayed === null) return t`at once`;
  const { time, span } = delayed;
  return t`around ${time}, in ${span}`;
}

interface DetailsProps {
  estimate: Estimate;
  onChoose: (resources: ResolvedResources) => void;
}

function EstimateDetails({ estimate, onChoose }: DetailsProps) {
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
          {estimate.alternatives.map((alternative) => (
            <li key={alternative.title}>
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => onChoose(alternative.resources)}
              >
                {translate(alternative.title)}
              </Button>
              <span className={classes.quiet}>{startText(alternative.start_at, now)}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
