import { Paper, Table, Title } from '@mantine/core';
import type { Association } from '@/api/types';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import classes from './Limits.module.css';
import { associationWords, figuresText } from './words';

/** What Slurm was told of someone, and what it has. */
export function Associations({ associations }: { associations: readonly Association[] }) {
  return (
    <section aria-labelledby="slurm">
      <Title order={2} size="h4" id="slurm" mb="sm">
        In Slurm
      </Title>
      {associations.length === 0 ? (
        <Paper className={classes.none}>
          The portal has told Slurm nothing: no limit concerns an account there.
        </Paper>
      ) : (
        <Paper className={classes.table}>
          <Table.ScrollContainer minWidth={620}>
            <Table verticalSpacing={8} horizontalSpacing="md" aria-labelledby="slurm">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Account</Table.Th>
                  <Table.Th>State</Table.Th>
                  <Table.Th>Told</Table.Th>
                  <Table.Th>Slurm has</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {associations.map((one) => (
                  <Row key={`${one.account}/${one.partition}`} association={one} />
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Paper>
      )}
    </section>
  );
}

function Row({ association: one }: { association: Association }) {
  return (
    <Table.Tr>
      <Table.Td>
        {one.account}
        {one.partition && <div className={classes.quiet}>partition {one.partition}</div>}
      </Table.Td>
      <Table.Td>
        <StateChip {...associationWords(one.state)} />
        {one.refused && <div className={classes.refused}>{one.refused}</div>}
        {one.written_at && (
          <div className={classes.origin}>
            told <Time at={one.written_at} />
          </div>
        )}
      </Table.Td>
      <Table.Td>
        {figuresText(one.state === 'pending' ? one.wanted : one.written, one.partition)}
      </Table.Td>
      <Table.Td>
        {one.found === null ? 'no such association' : figuresText(one.found, one.partition)}
      </Table.Td>
    </Table.Tr>
  );
}
