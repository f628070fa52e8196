import { Paper, Table } from '@mantine/core';
import type { Session } from '@/api/types';
import { mayChange } from '@/features/account/roles';
import { useMe } from '@/features/account/useMe';
import { gpuText, stateWords } from '@/features/sessions/words';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import classes from './AdminPage.module.css';
import { AdminStop } from './AdminStop';

export function AdminTable({ sessions }: { sessions: Session[] }) {
  return (
    <Paper className={classes.table}>
      <Table.ScrollContainer minWidth={640}>
        <Table verticalSpacing="sm" horizontalSpacing="md">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Who</Table.Th>
              <Table.Th>Session</Table.Th>
              <Table.Th>State</Table.Th>
              <Table.Th>Where</Table.Th>
              <Table.Th>GPUs</Table.Th>
              <Table.Th>Until</Table.Th>
              <Table.Th aria-label="Actions" />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {sessions.map((session) => (
              <AdminRow key={session.id} session={session} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}

function AdminRow({ session }: { session: Session }) {
  const change = mayChange(useMe());
  return (
    <Table.Tr>
      <Table.Td fw={600}>{session.owner}</Table.Td>
      <Table.Td>
        {session.name}
        <div className={classes.quiet}>
          {session.environment_title}
          {session.job_id !== null && ` · job ${session.job_id}`}
        </div>
      </Table.Td>
      <Table.Td>
        <StateChip {...stateWords(session)} />
        {session.state === 'queued' && session.reason && (
          <div className={classes.reason}>{session.reason}</div>
        )}
      </Table.Td>
      <Table.Td>{session.node ?? '–'}</Table.Td>
      <Table.Td>{session.resources.gpus ? gpuText(session.resources) : 'none'}</Table.Td>
      <Table.Td>{session.expires_at ? <Time at={session.expires_at} /> : '–'}</Table.Td>
      <Table.Td ta="right">
        {change && session.state !== 'stopping' && <AdminStop session={session} />}
      </Table.Td>
    </Table.Tr>
  );
}
