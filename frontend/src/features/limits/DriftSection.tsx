import { Button, Paper, Skeleton, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { sentence } from '@/api/problem';
import type { Drift } from '@/api/types';
import { mayChange } from '@/features/account/roles';
import { useMe } from '@/features/account/useMe';
import { plural } from '@/features/sessions/words';
import { duration } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import classes from './Drift.module.css';
import { driftQuery, settleDrift } from './queries';
import { placeText } from './words';

/** What somebody changed in Slurm by hand, to mend or to accept. */
export function DriftSection() {
  const { data, error } = useQuery(driftQuery);
  const open = data?.items.filter((item) => !item.accepted) ?? [];
  const accepted = data?.items.filter((item) => item.accepted) ?? [];
  return (
    <section aria-labelledby="drift">
      <div className={classes.head}>
        <Title order={2} size="h4" id="drift">
          Changed in Slurm by hand
        </Title>
        {data && <Checked at={data.checked_at} />}
      </div>
      {error && <Notice tone="error">{sentence(error)}</Notice>}
      {!data && !error && <Skeleton height={60} radius="lg" aria-label="Loading" />}
      {data?.trouble && (
        <Notice tone="warning">Slurm can't be asked just now. {data.trouble}</Notice>
      )}
      {data && open.length === 0 && (
        <p className={classes.quiet}>
          {data.checked_at === null
            ? 'Not known yet.'
            : 'Slurm has what the portal told it. Nothing was changed behind its back.'}
        </p>
      )}
      <List items={open} />
      {accepted.length > 0 && (
        <details className={classes.accepted}>
          <summary>{plural(accepted.length, 'accepted change')}</summary>
          <List items={accepted} />
        </details>
      )}
    </section>
  );
}

function Checked({ at }: { at: string | null }) {
  const now = useNow();
  return (
    <span className={classes.quiet}>
      {at === null ? 'not checked yet' : `checked ${duration(now - Date.parse(at))} ago`}
    </span>
  );
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

function Item({ item }: { item: Drift }) {
  const change = mayChange(useMe());
  const [asking, setAsking] = useState<'mend' | 'accept' | null>(null);
  const [last, setLast] = useState<'mend' | 'accept'>('mend');
  const ask = (how: 'mend' | 'accept'): void => {
    setLast(how);
    setAsking(how);
  };
  const where = placeText(item);
  return (
    <Paper component="li" className={classes.item}>
      <div>
        <div className={classes.where}>{where}</div>
        <div className={classes.quiet}>
          {item.field}
          {item.since && (
            <>
              , seen <Time at={item.since} />
            </>
          )}
        </div>
      </div>
      <dl className={classes.sides}>
        <div>
          <dt>The portal told it</dt>
          <dd>{item.wanted}</dd>
        </div>
        <div>
          <dt>Slurm has</dt>
          <dd className={item.accepted ? undefined : classes.differs}>{item.found}</dd>
        </div>
      </dl>
      {change && (
        <div className={classes.actions}>
          <Button
            variant="default"
            size="compact-sm"
            onClick={() => ask('mend')}
            aria-label={`Mend ${item.field} of ${where}`}
          >
            Mend…
          </Button>
          {!item.accepted && (
            <Button
              variant="default"
              size="compact-sm"
              onClick={() => ask('accept')}
              aria-label={`Accept ${item.field} of ${where}`}
            >
              Accept…
            </Button>
          )}
        </div>
      )}
      <ConfirmDialog
        title={last === 'mend' ? 'Mend it in Slurm?' : 'Accept what Slurm has?'}
        opened={asking !== null}
        onClose={() => setAsking(null)}
        act={() => settleDrift(item.id, last)}
        button={last === 'mend' ? 'Mend it' : 'Accept it'}
      >
        <Text size="sm">
          {last === 'mend'
            ? `${where}: ${item.field} becomes “${item.wanted}” again, as the portal's limit says.`
            : `${where}: ${item.field} stays “${item.found}”, until the limit itself is changed.`}
        </Text>
      </ConfirmDialog>
    </Paper>
  );
}
