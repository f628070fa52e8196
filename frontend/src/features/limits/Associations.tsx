import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Table, Title } from '@mantine/core';
import type { Association } from '@/api/types';
import { translate } from '@/i18n/translate';
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
      {associations.length === 0 ? (
        <Paper className={classes.none}>
          <Trans>
            The portal has not written anything to Slurm: no limit applies to an account there.
          </Trans>
        </Paper>
      ) : (
        <Paper className={classes.table}>
          <Table.ScrollContainer minWidth={620}>
            <Table verticalSpacing={8} horizontalSpacing="md" aria-labelledby="slurm">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>
                    <Trans context="in Slurm">Account</Trans>
                  </Table.Th>
                  <Table.Th>
                    <Trans>State</Trans>
                  </Table.Th>
                  <Table.Th>
                    <Trans>Applied</Trans>
                  </Table.Th>
                  <Table.Th>
                    <Trans>Slurm has</Trans>
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {associations.map((association) => (
                  <Row
                    key={`${association.account}/${association.partition}`}
                    association={association}
                  />
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Paper>
      )}
    </section>
  );
}

function Row({ association }: { association: Association }) {
  const { account, partition, state, refused, written_at, wanted, written, found } = association;
  return (
    <Table.Tr>
      <Table.Td>
        {account}
        {partition && (
          <div className={classes.quiet}>
            <Trans>partition {partition}</Trans>
          </div>
        )}
      </Table.Td>
      <Table.Td>
        <StateChip {...associationStateLabel(state)} />
        {refused && <div className={classes.refused}>{translate(refused)}</div>}
        {written_at && (
          <div className={classes.origin}>
            <Trans>
              applied <Time at={written_at} />
            </Trans>
          </div>
        )}
      </Table.Td>
      <Table.Td>{figuresText(state === 'pending' ? wanted : written, partition)}</Table.Td>
      <Table.Td>{found === null ? t`no such association` : figuresText(found, partition)}</Table.Td>
    </Table.Tr>
  );
}
