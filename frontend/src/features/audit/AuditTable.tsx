import { Paper, Table, UnstyledButton } from '@mantine/core';
import { useId, useState } from 'react';
import type { AuditEvent } from '@/api/types';
import { utcTime } from '@/lib/time';
import { Icon } from '@/ui/icons';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import classes from './Audit.module.css';
import { actionTone, lines, summary } from './words';

export function AuditTable({ events }: { events: readonly AuditEvent[] }) {
  return (
    <Paper className={classes.table}>
      <Table verticalSpacing={8} horizontalSpacing="md" aria-label="Events, newest first">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>When</Table.Th>
            <Table.Th>Who</Table.Th>
            <Table.Th>Did what</Table.Th>
            <Table.Th>To whom or what</Table.Th>
            <Table.Th>From</Table.Th>
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
  const said = summary(event);
  const bad = actionTone(event.action) === 'bad';
  return (
    <>
      <Table.Tr className={classes.row} data-open={open}>
        <Table.Td className={classes.when}>
          <UnstyledButton
            className={classes.opener}
            aria-expanded={open}
            aria-controls={id}
            aria-label={`${event.title} by ${event.actor}: details`}
            onClick={() => setOpen(!open)}
          >
            <Icon name="down" size={14} />
          </UnstyledButton>
          <Time at={event.at} />
        </Table.Td>
        <Table.Td className={classes.who}>{event.actor || '–'}</Table.Td>
        <Table.Td className={classes.what}>
          {bad ? <StateChip tone="bad" label={event.title} /> : event.title}
        </Table.Td>
        <Table.Td className={classes.target} data-empty={event.target === '' && said === ''}>
          {event.target || '–'}
          {!open && <div className={classes.summary}>{said}</div>}
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
  return (
    <dl className={classes.lines}>
      {lines(event).map(({ name, old, now }) => (
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
          <dt>Access token</dt>
          <dd>{event.token}</dd>
        </div>
      )}
      <div>
        <dt>Event</dt>
        <dd>
          <code>{event.action}</code>, {utcTime(event.at)}, number {event.id}
          {event.request_id && (
            <>
              , request <code>{event.request_id}</code>
            </>
          )}
        </dd>
      </div>
    </dl>
  );
}
