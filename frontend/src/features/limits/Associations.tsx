import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Title } from '@mantine/core';
import type { Association } from '@/api/types';
import { translate } from '@/i18n/translate';
import { CellNote, type Column, DataTable } from '@/ui/DataTable';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import classes from './Limits.module.css';
import { associationStateLabel, figuresText } from './labels';

/** A user's associations: the values that the portal applied, and the actual ones in Slurm. */
export function Associations({ associations }: { associations: readonly Association[] }) {
  return (
    <section aria-labelledby="slurm">
      <Title order={2} size="h4" id="slurm" mb="sm">
        <Trans>In Slurm</Trans>
      </Title>
      <DataTable
        label={t`In Slurm`}
        columns={COLUMNS}
        rows={associations}
        rowKey={({ account, partition }) => `${account}/${partition}`}
        empty={
          <Trans>
            The portal has not written anything to Slurm: no limit applies to a Slurm account.
          </Trans>
        }
      />
    </section>
  );
}

const COLUMNS: Column<Association>[] = [
  {
    id: 'account',
    header: <Trans context="in Slurm">Slurm account</Trans>,
    rowHeader: true,
    cell: ({ account, partition }) => (
      <>
        {account}
        {partition && (
          <CellNote>
            <Trans>partition {partition}</Trans>
          </CellNote>
        )}
      </>
    ),
  },
  {
    id: 'state',
    header: t`State`,
    cell: ({ state, refused, written_at: at }) => (
      <>
        <StateChip {...associationStateLabel(state)} />
        {refused && <div className={classes.refused}>{translate(refused)}</div>}
        {at && (
          <CellNote>
            <Trans>
              applied <Time at={at} />
            </Trans>
          </CellNote>
        )}
      </>
    ),
  },
  {
    id: 'applied',
    header: t`Applied`,
    cell: ({ state, wanted, written, partition }) =>
      figuresText(state === 'pending' ? wanted : written, partition),
    narrowLabeled: true,
  },
  {
    id: 'found',
    header: t`Slurm's value`,
    cell: ({ found, partition }) =>
      found === null ? t`no such association` : figuresText(found, partition),
    narrowLabeled: true,
  },
];
