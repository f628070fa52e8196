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
import { actionTargets, MAX_COMPARED, NOTHING, type Selection } from './selection';

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
  const targets = actionTargets(chosen);
  const all = selection.kind === 'all';
  const comparable = !all && number >= 2 && number <= MAX_COMPARED;
  const apply = async (): Promise<void> => {
    if (confirming === null) return;
    setRefused([]);
    const ids = new Set(targets[confirming].map(({ id }) => id));
    const affected: Selection = all ? selection : { kind: 'some', ids };
    const outcome = await actOnMany(confirming, affected, search, setDone);
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
        {(all || targets.cancel.length > 0) && (
          <Button
            variant="default"
            c="var(--bad)"
            leftSection={<Icon name="stop" />}
            onClick={() => openConfirmation('cancel')}
          >
            {all ? t`Cancel all` : t`Cancel ${{ count: targets.cancel.length }}`}
          </Button>
        )}
        {(all || targets.remove.length > 0) && (
          <Button
            variant="default"
            leftSection={<Icon name="trash" />}
            onClick={() => openConfirmation('remove')}
          >
            {all ? t`Remove all` : t`Remove ${{ count: targets.remove.length }}`}
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
          <p className={classes.question}>
            {questionText(confirming, all ? null : targets, number)}
          </p>
          {!all && <Names jobs={targets[confirming]} />}
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

/** The number of jobs that are listed by name. */
const LISTED_NAMES = 6;

function Names({ jobs }: { jobs: Job[] }) {
  const rest = jobs.length - LISTED_NAMES;
  return (
    <ul className={classes.names}>
      {jobs.slice(0, LISTED_NAMES).map(({ id, name }) => (
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
          {refused.slice(0, LISTED_NAMES).map(({ id, message }) => (
            <li key={id}>{t`${{ name: names.get(id) ?? id }}: ${{ why: translate(message) }}`}</li>
          ))}
        </ul>
      </Notice>
    </div>
  );
}
