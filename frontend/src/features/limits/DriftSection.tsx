import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Button, Paper, Skeleton, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { Drift } from '@/api/types';
import { translate } from '@/i18n/translate';
import { mayChange } from '@/lib/roles';
import { duration } from '@/lib/time';
import { useMe } from '@/lib/useMe';
import { useNow } from '@/lib/useNow';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { Fold } from '@/ui/Fold';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { TryAgain } from '@/ui/TryAgain';
import classes from './Drift.module.css';
import { associationText } from './labels';
import { driftQuery, settleDrift } from './queries';

/** Drift: associations that were changed outside the portal, to restore or to accept. */
export function DriftSection() {
  const { data, error, refetch } = useQuery(driftQuery);
  const trouble = translate(data?.trouble);
  const open = data?.items.filter((item) => !item.accepted) ?? [];
  const accepted = data?.items.filter((item) => item.accepted) ?? [];
  return (
    <section aria-labelledby="drift">
      <div className={classes.head}>
        <Title order={2} size="h4" id="drift">
          <Trans>Changed outside the portal</Trans>
        </Title>
        {data && <Checked at={data.checked_at} />}
      </div>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={60} radius="lg" aria-label={t`Loading`} />}
      {trouble && (
        <Notice tone="warning">
          <Trans>Slurm doesn't answer. {trouble}</Trans>
        </Notice>
      )}
      {data && open.length === 0 && (
        <p className={classes.quiet}>
          {data.checked_at === null
            ? t`Not checked yet.`
            : t`Slurm has what the portal applied. Nothing was changed outside the portal.`}
        </p>
      )}
      <List items={open} />
      {accepted.length > 0 && (
        <Fold
          className={classes.accepted}
          summary={
            <Plural value={accepted.length} one="# accepted change" other="# accepted changes" />
          }
        >
          <List items={accepted} />
        </Fold>
      )}
    </section>
  );
}

function Checked({ at }: { at: string | null }) {
  const now = useNow();
  return <span className={classes.quiet}>{checkedText(at, now)}</span>;
}

function checkedText(at: string | null, now: number): string {
  if (at === null) return t`not checked yet`;
  const age = duration(now - Date.parse(at));
  return t`checked ${age} ago`;
}

function List({ items }: { items: readonly Drift[] }) {
  if (items.length === 0) return null;
  return (
    <ul className={classes.list}>
      {items.map((item) => (
        <Item key={item.id} item={item} />
      ))}
    </ul>
  );
}

type Decision = 'mend' | 'accept';

function Item({ item }: { item: Drift }) {
  const change = mayChange(useMe());
  const field = translate(item.field);
  return (
    <Paper component="li" className={classes.item}>
      <div>
        <div className={classes.association}>{associationText(item)}</div>
        <div className={classes.quiet}>
          {item.since ? (
            <Trans>
              {field}, seen <Time at={item.since} />
            </Trans>
          ) : (
            field
          )}
        </div>
      </div>
      <dl className={classes.sides}>
        <div>
          <dt>
            <Trans>Portal's value</Trans>
          </dt>
          <dd>{translate(item.wanted)}</dd>
        </div>
        <div>
          <dt>
            <Trans>Slurm's value</Trans>
          </dt>
          <dd className={item.accepted ? undefined : classes.differs}>{translate(item.found)}</dd>
        </div>
      </dl>
      {change && (
        <div className={classes.actions}>
          <SettleButton decision="mend" item={item} />
          {!item.accepted && <SettleButton decision="accept" item={item} />}
        </div>
      )}
    </Paper>
  );
}

const DRIFT_LABELS: Record<Decision, { button: string; title: string; confirm: string }> = {
  mend: { button: t`Restore…`, title: t`Restore the portal's value?`, confirm: t`Restore` },
  accept: { button: t`Accept…`, title: t`Accept Slurm's value?`, confirm: t`Accept` },
};

function SettleButton({ decision, item }: { decision: Decision; item: Drift }) {
  const [asking, setAsking] = useState(false);
  const { button, title, confirm } = DRIFT_LABELS[decision];
  const association = associationText(item);
  const [field, applied, actual] = [
    translate(item.field),
    translate(item.wanted),
    translate(item.found),
  ];
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        onClick={() => setAsking(true)}
        aria-label={
          decision === 'mend'
            ? t`Restore ${field} of ${association}`
            : t`Accept ${field} of ${association}`
        }
      >
        {button}
      </Button>
      <ConfirmDialog
        title={title}
        opened={asking}
        onClose={() => setAsking(false)}
        act={() => settleDrift(item.id, decision)}
        button={confirm}
      >
        <Text size="sm">
          {decision === 'mend'
            ? t`${association}: ${field} becomes “${applied}” again, as set by the portal's limit.`
            : t`${association}: ${field} stays “${actual}” until the limit itself is changed.`}
        </Text>
      </ConfirmDialog>
    </>
  );
}
