import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Table, UnstyledButton } from '@mantine/core';
import { useId, useState } from 'react';
import type { AuditEvent } from '@/api/types';
import { translate } from '@/i18n/translate';
import { utcTime } from '@/lib/time';
import { Icon } from '@/ui/icons';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import classes from './Audit.module.css';
import { actionTone, summary, toLines } from './labels';

export function AuditTable({ events }: { events: readonly AuditEvent[] }) {
  return (
    <Paper className={classes.table}>
      <Table verticalSpacing={8} horizontalSpacing="md" aria-label={t`Events, newest first`}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">
              <Trans>When</Trans>
            </Table.Th>
            <Table.Th scope="col">
              <Trans context="in the audit">Actor</Trans>
            </Table.Th>
            <Table.Th scope="col">
              <Trans>Action</Trans>
            </Table.Th>
            <Table.Th scope="col">
              <Trans>Target</Trans>
            </Table.Th>
            <Table.Th scope="col">
              <Trans context="an address">From</Trans>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {events.map((event) => (
            <Row key={event.id} event={event} />
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

function Row({ event }: { event: AuditEvent }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const { actor } = event;
  const title = translate(event.title);
  const line = summary(event);
  const bad = actionTone(event.action) === 'bad';
  return (
    <>
      <Table.Tr className={classes.row} data-open={open}>
        <Table.Td className={classes.when}>
          <UnstyledButton
            className={classes.opener}
            aria-expanded={open}
            aria-controls={id}
            aria-label={t`${title} by ${actor}: details`}
            onClick={() => setOpen(!open)}
          >
            <Icon name="down" size={14} />
          </UnstyledButton>
          <Time at={event.at} relative />
        </Table.Td>
        <Table.Td className={classes.who}>{actor || '–'}</Table.Td>
        <Table.Td className={classes.what}>
          {bad ? <StateChip tone="bad" label={title} /> : title}
        </Table.Td>
        <Table.Td className={classes.target} data-empty={event.target === '' && line === ''}>
          {event.target || '–'}
          {!open && <div className={classes.summary}>{line}</div>}
        </Table.Td>
        <Table.Td className={classes.ip}>{event.ip}</Table.Td>
      </Table.Tr>
      <Table.Tr id={id} className={classes.details} hidden={!open}>
        <Table.Td colSpan={5}>{open && <Details event={event} />}</Table.Td>
      </Table.Tr>
    </>
  );
}

function Details({ event }: { event: AuditEvent }) {
  const { action, id, request_id: request } = event;
  const time = utcTime(event.at);
  return (
    <dl className={classes.lines}>
      {toLines(event).map(({ name, old, now }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {old !== undefined && (
              <>
                <del>{old}</del> <span aria-hidden="true">→</span>{' '}
              </>
            )}
            {old === undefined ? now : <ins>{now}</ins>}
          </dd>
        </div>
      ))}
      {event.token && (
        <div>
          <dt>
            <Trans>Access token</Trans>
          </dt>
          <dd>{event.token}</dd>
        </div>
      )}
      <div>
        <dt>
          <Trans>Event</Trans>
        </dt>
        <dd>
          {request ? (
            <Trans>
              <code>{action}</code>, {time}, number {id}, request <code>{request}</code>
            </Trans>
          ) : (
            <Trans>
              <code>{action}</code>, {time}, number {id}
            </Trans>
          )}
        </dd>
      </div>
    </dl>
  );
}
