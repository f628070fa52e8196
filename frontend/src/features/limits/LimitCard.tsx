import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Checkbox, Paper, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type ReactNode, useId, useState } from 'react';
import type { Limit, LimitSet } from '@/api/types';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { Time } from '@/ui/Time';
import { isEmptyLimit } from './draft';
import { LimitForm } from './LimitForm';
import classes from './Limits.module.css';
import { emptyText, limitText } from './labels';
import { removeLimit, saveLimit } from './queries';
import { SlurmSyncState } from './SlurmSyncState';
import {
  type EffectiveValue,
  type Field,
  GROUP_TOTAL_FIELDS,
  type LimitSource,
  type Values,
} from './types';

interface Props {
  whose: LimitSource;
  title: string;
  about?: ReactNode;
  /** what is written down now */
  limit: Limit | undefined;
  otherwise?: Partial<Record<Field, EffectiveValue | null>>;
}

/** One limit: its form for those who may change it, its words for the others. */
export function LimitCard({ whose, title, about, limit, otherwise }: Props) {
  const change = mayChange(useMe());
  const id = useId();
  const [answer, setAnswer] = useState<LimitSet | null>(null);
  const [account, setAccount] = useState(false);
  const slurm = limit?.slurm ?? answer?.slurm;
  const { name } = whose;
  const setter = limit?.updated_by;

  const save = async (values: Values, version: number | null): Promise<void> => {
    if (isEmptyLimit(values)) {
      if (version !== null) await removeLimit(whose, version);
      setAnswer(null);
      notifications.show({ message: t`Saved: there is no such limit now.` });
      return;
    }
    setAnswer(await saveLimit(whose, values, version, account));
    notifications.show({ message: t`Saved. It counts from now on.` });
  };

  return (
    <Paper component="section" className={classes.card} aria-labelledby={id}>
      <div className={classes.head}>
        <Title order={2} size="h4" id={id}>
          {title}
        </Title>
        {limit && change && <Remove whose={whose} title={title} limit={limit} />}
      </div>
      {about && <p className={classes.about}>{about}</p>}
      {limit && (
        <p className={classes.about}>
          <Trans>
            Set by {setter}, <Time at={limit.updated_at} />.
          </Trans>
        </p>
      )}
      {slurm && <SlurmSyncState slurm={slurm} />}
      {change ? (
        <LimitForm
          whose={whose}
          before={limit ?? null}
          hint={(field) => emptyText(field, otherwise?.[field])}
          offered={(field) => whose.scope !== 'group' || GROUP_TOTAL_FIELDS.includes(field)}
          onSave={save}
        >
          {whose.scope === 'group' && (
            <Checkbox
              label={t`Make an account in Slurm for ${name}, if it has none`}
              description={t`Without an account, only the portal enforces this limit; sbatch in a terminal doesn't.`}
              checked={account}
              onChange={(event) => setAccount(event.currentTarget.checked)}
            />
          )}
        </LimitForm>
      ) : (
        <Text size="sm">{(limit && limitText(limit)) || t`No limit is set here.`}</Text>
      )}
    </Paper>
  );
}

interface RemoveProps {
  whose: LimitSource;
  title: string;
  limit: Limit;
}

function Remove({ whose, title, limit }: RemoveProps) {
  const values = limitText(limit);
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button
        variant="subtle"
        color="red"
        c="var(--bad)"
        size="compact-sm"
        onClick={() => setAsking(true)}
      >
        <Trans>Remove…</Trans>
      </Button>
      <ConfirmDialog
        title={t`Remove the limit?`}
        opened={asking}
        onClose={() => setAsking(false)}
        act={() => removeLimit(whose, limit.version)}
        button={t`Remove it`}
        keep={t`Keep it`}
        danger
      >
        <Text size="sm">
          <Trans>
            {title}: {values}. What the portal applied to Slurm for it is reverted; other limits
            stay in effect.
          </Trans>
        </Text>
      </ConfirmDialog>
    </>
  );
}
