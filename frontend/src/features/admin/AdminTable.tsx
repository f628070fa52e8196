import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Table, VisuallyHidden } from '@mantine/core';
import type { Session } from '@/api/types';
import { stateLabel } from '@/features/sessions/labels';
import { translate, translateExact } from '@/i18n/translate';
import { gpuText } from '@/lib/resourceLabels';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
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
              <Table.Th>
                <Trans context="sessions">Who</Trans>
              </Table.Th>
              <Table.Th>
                <Trans>Session</Trans>
              </Table.Th>
              <Table.Th>
                <Trans>State</Trans>
              </Table.Th>
              <Table.Th>
                <Trans>Node</Trans>
              </Table.Th>
              <Table.Th>
                <Trans>GPUs</Trans>
              </Table.Th>
              <Table.Th>
                <Trans>Until</Trans>
              </Table.Th>
              <Table.Th>
                <VisuallyHidden>
                  <Trans>Actions</Trans>
                </VisuallyHidden>
              </Table.Th>
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
  const job = session.job_id;
  return (
    <Table.Tr>
      <Table.Td fw={600}>{session.owner}</Table.Td>
      <Table.Td>
        {session.name}
        <div className={classes.quiet}>
          {translateExact(session.environment_title)}
          {job !== null && ` · ${t`job ${job}`}`}
        </div>
      </Table.Td>
      <Table.Td>
        <StateChip {...stateLabel(session)} />
        {session.state === 'queued' && session.reason && (
          <div className={classes.reason}>{translate(session.reason)}</div>
        )}
      </Table.Td>
      <Table.Td>{session.node ?? '–'}</Table.Td>
      <Table.Td>{session.resources.gpus ? gpuText(session.resources) : t`none`}</Table.Td>
      <Table.Td>{session.expires_at ? <Time at={session.expires_at} /> : '–'}</Table.Td>
      <Table.Td ta="right">
        {change && session.state !== 'stopping' && <AdminStop session={session} />}
      </Table.Td>
    </Table.Tr>
  );
}
