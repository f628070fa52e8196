import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Job } from '@/api/types';
import { translate } from '@/i18n/translate';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { actOnMany, type BulkAction, type BulkResult } from './bulk';
import { doneText, questionText } from './bulkLabels';
import classes from './SelectionBar.module.css';
import type { JobsSearch } from './search';
import { MAX_COMPARED, NOTHING, possibleActions, type Selection } from './selection';

interface Props {
  search: JobsSearch;
  selection: Selection;
  /** the selected jobs that are loaded; `number`: the number of all selected jobs */
  chosen: Job[];
  number: number;
  onSelect: (selection: Selection) => void;
  onRemoved: (...ids: string[]) => void;
}

/** The operations on the selected jobs, their confirmation, and what was refused. */
export function SelectionActions({
  search,
  selection,
  chosen,
  number,
  onSelect,
  onRemoved,
}: Props) {
  const [confirming, setConfirming] = useState<BulkAction | null>(null);
  const [done, setDone] = useState(0);
  const [refused, setRefused] = useState<BulkResult['refused']>([]);
  const can = possibleActions(chosen);
  const all = selection.kind === 'all';
  const comparable = !all && number >= 2 && number <= MAX_COMPARED;
  const apply = async (): Promise<void> => {
    if (confirming === null) return;
    setRefused([]);
    const named = new Set(can[confirming].map(({ id }) => id));
    const target: Selection = all ? selection : { kind: 'some', ids: named };
    const outcome = await actOnMany(confirming, target, search, setDone);
    notifications.show({ message: doneText(confirming, outcome.done.length), autoClose: 6000 });
    setRefused(outcome.refused);
    if (confirming === 'remove') onRemoved(...outcome.done);
    if (outcome.refused.length === 0) onSelect(NOTHING);
  };
  const openConfirmation = (action: BulkAction): void => {
    setDone(0);
    setConfirming(action);
  };
  return (
    <>
      <div className={classes.acts}>
        {comparable && (
          <Button
            component={Link}
            to={`/jobs/compare?ids=${chosen.map(({ id }) => id).join()}`}
            variant="default"
            leftSection={<Icon name="chart" />}
          >
            <Trans>Compare</Trans>
          </Button>
        )}
        {(all || can.cancel.length > 0) && (
          <Button
            variant="default"
            c="var(--bad)"
            leftSection={<Icon name="stop" />}
            onClick={() => openConfirmation('cancel')}
          >
            {all ? t`Cancel all` : t`Cancel ${{ count: can.cancel.length }}`}
          </Button>
        )}
        {(all || can.remove.length > 0) && (
          <Button
            variant="default"
            leftSection={<Icon name="trash" />}
            onClick={() => openConfirmation('remove')}
          >
            {all ? t`Remove all` : t`Remove ${{ count: can.remove.length }}`}
          </Button>
        )}
        <Button variant="subtle" color="gray" onClick={() => onSelect(NOTHING)}>
          <Trans>Select none</Trans>
        </Button>
      </div>
      {refused.length > 0 && <Refused refused={refused} chosen={chosen} />}
      {confirming && (
        <ConfirmDialog
          opened
          danger={confirming === 'cancel'}
          title={
            confirming === 'cancel' ? t`Cancel these jobs?` : t`Remove these jobs from the list?`
          }
          button={confirming === 'cancel' ? t`Cancel them` : t`Remove them`}
          keep={t`Keep them`}
          onClose={() => setConfirming(null)}
          act={apply}
        >
          <p className={classes.question}>{questionText(confirming, all ? null : can, number)}</p>
          {!all && <Names jobs={can[confirming]} />}
          {done > 0 && (
            <p className={classes.question} role="status">
              {doneText(confirming, done)}
            </p>
          )}
        </ConfirmDialog>
      )}
    </>
  );
}

const NAMED = 6;

function Names({ jobs }: { jobs: Job[] }) {
  const rest = jobs.length - NAMED;
  return (
    <ul className={classes.names}>
      {jobs.slice(0, NAMED).map(({ id, name }) => (
        <li key={id}>{name}</li>
      ))}
      {rest > 0 && <li>{plural(rest, { one: 'and # more', other: 'and # more' })}</li>}
    </ul>
  );
}

function Refused({ refused, chosen }: { refused: BulkResult['refused']; chosen: Job[] }) {
  const names = new Map(chosen.map(({ id, name }) => [id, name]));
  return (
    <div className={classes.refused}>
      <Notice tone="warning" urgent>
        <Trans>Some were not changed:</Trans>
        <ul className={classes.names}>
          {refused.slice(0, NAMED).map(({ id, message }) => (
            <li key={id}>{t`${{ name: names.get(id) ?? id }}: ${{ why: translate(message) }}`}</li>
          ))}
        </ul>
      </Notice>
    </div>
  );
}
