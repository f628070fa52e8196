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
  source: LimitSource;
  title: string;
  about?: ReactNode;
  /** the stored limit */
  limit: Limit | undefined;
  /** values that apply to empty fields */
  fallbacks?: Partial<Record<Field, EffectiveValue | null>>;
}

/** One limit: a form, or text for users who may not change it. */
export function LimitCard({ source, title, about, limit, fallbacks }: Props) {
  const change = mayChange(useMe());
  const id = useId();
  const [answer, setAnswer] = useState<LimitSet | null>(null);
  const [createAccount, setCreateAccount] = useState(false);
  const slurm = limit?.slurm ?? answer?.slurm;
  const { name } = source;
  const setter = limit?.updated_by;

  const save = async (values: Values, version: number | null): Promise<void> => {
    if (isEmptyLimit(values)) {
      if (version !== null) await removeLimit(source, version);
      setAnswer(null);
      notifications.show({ message: t`Saved. No limit is set.` });
      return;
    }
    setAnswer(await saveLimit(source, values, version, createAccount));
    notifications.show({ message: t`Saved. It takes effect immediately.` });
  };

  return (
    <Paper component="section" className={classes.card} aria-labelledby={id}>
      <div className={classes.head}>
        <Title order={2} size="h4" id={id}>
          {title}
        </Title>
        {limit && change && <Remove source={source} title={title} limit={limit} />}
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
          source={source}
          current={limit ?? null}
          hint={(field) => emptyText(field, fallbacks?.[field])}
          isOffered={(field) => source.scope !== 'group' || GROUP_TOTAL_FIELDS.includes(field)}
          onSave={save}
        >
          {source.scope === 'group' && (
            <Checkbox
              label={t`Create a Slurm account for ${name}, if it has none`}
              description={t`Without a Slurm account, only the portal enforces this limit; sbatch in a terminal doesn't.`}
              checked={createAccount}
              onChange={(event) => setCreateAccount(event.currentTarget.checked)}
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
  source: LimitSource;
  title: string;
  limit: Limit;
}

function Remove({ source, title, limit }: RemoveProps) {
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
        act={() => removeLimit(source, limit.version)}
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
