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

type How = 'mend' | 'accept';

function Item({ item }: { item: Drift }) {
  const change = mayChange(useMe());
  return (
    <Paper component="li" className={classes.item}>
      <div>
        <div className={classes.where}>{placeText(item)}</div>
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
          <Settle how="mend" item={item} />
          {!item.accepted && <Settle how="accept" item={item} />}
        </div>
      )}
    </Paper>
  );
}

const WORDS: Record<How, { button: string; title: string; yes: string }> = {
  mend: { button: 'Mend…', title: 'Mend it in Slurm?', yes: 'Mend it' },
  accept: { button: 'Accept…', title: 'Accept what Slurm has?', yes: 'Accept it' },
};

function Settle({ how, item }: { how: How; item: Drift }) {
  const [asking, setAsking] = useState(false);
  const { button, title, yes } = WORDS[how];
  const where = placeText(item);
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        onClick={() => setAsking(true)}
        aria-label={`${button.slice(0, -1)} ${item.field} of ${where}`}
      >
        {button}
      </Button>
      <ConfirmDialog
        title={title}
        opened={asking}
        onClose={() => setAsking(false)}
        act={() => settleDrift(item.id, how)}
        button={yes}
      >
        <Text size="sm">
          {how === 'mend'
            ? `${where}: ${item.field} becomes “${item.wanted}” again, as the portal's limit says.`
            : `${where}: ${item.field} stays “${item.found}”, until the limit itself is changed.`}
        </Text>
      </ConfirmDialog>
    </>
  );
}
