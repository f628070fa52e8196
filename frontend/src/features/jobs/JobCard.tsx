import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { ActionIcon, Button, Checkbox, Paper } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { memo, useState } from 'react';
import type { Job } from '@/api/types';
import { Facts } from '@/features/sessions/Facts';
import { TensorboardLine } from '@/features/tensorboard/TensorboardLine';
import { translate } from '@/i18n/translate';
import classes from '@/ui/CardList.module.css';
import { Icon } from '@/ui/icons';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { allowedActions, stopJobTensorboard } from './actions';
import { CancelDialog } from './CancelDialog';
import { JobError } from './JobError';
import { JobTimes } from './JobTimes';
import {
  arrayText,
  hasErrorLine,
  jobReason,
  jobStateLabel,
  nodeNamesText,
  requestedTexts,
  templateText,
} from './labels';
import { RowMenu } from './RowMenu';

interface Props {
  job: Job;
  /** the title of its template, if known */
  title: string | undefined;
  chosen: boolean;
  onChoose: (id: string) => void;
  onRemoved: (id: string) => void;
}

/** One job in the list. */
export const JobCard = memo(function JobCard(props: Props) {
  const { job, title, chosen, onChoose, onRemoved } = props;
  const [opened, setOpened] = useState(false);
  const reason = jobReason(job);
  const heading = `job-${job.id}`;
  const hasError = hasErrorLine(job);
  return (
    <Paper
      component="article"
      className={classes.card}
      aria-labelledby={heading}
      data-chosen={chosen}
    >
      <div className={classes.head}>
        <Checkbox
          aria-label={t`Select ${{ name: job.name }}`}
          checked={chosen}
          onChange={() => onChoose(job.id)}
        />
        <h2 className={classes.name} id={heading}>
          <Link to="/jobs/$id" params={{ id: job.id }}>
            {job.name}
          </Link>
        </h2>
        <span className={classes.quiet}>{templateText(job, title)}</span>
        <span className={classes.chip}>
          <StateChip {...jobStateLabel(job)} />
        </span>
      </div>
      {job.stale_since && job.state !== 'ended' && (
        <p className={classes.stale}>
          <Trans>
            Last known state: Slurm has not responded since <Time at={job.stale_since} />.
          </Trans>
        </p>
      )}
      {job.array && <p className={classes.line}>{arrayText(job.array)}</p>}
      {reason && (
        <p className={classes.line}>
          {reason}{' '}
          {job.suggestion && <span className={classes.quiet}>{translate(job.suggestion)}</span>}
        </p>
      )}
      {opened && <JobError job={job} />}
      <div className={classes.foot}>
        <div className={classes.about}>
          <span className={classes.quiet}>
            <JobTimes job={job} slurmId={job.job_id} />
          </span>
          <Facts
            session={{ node: nodeNamesText(job), resources: job.resources }}
            texts={requestedTexts(job)}
          />
        </div>
        {hasError && !opened && (
          <Button
            className={classes.show}
            variant="subtle"
            px="xs"
            color="red"
            c="var(--bad)"
            leftSection={<Icon name="alert" />}
            onClick={() => setOpened(true)}
          >
            <Trans>Show the error</Trans>
          </Button>
        )}
        <div className={classes.actions}>
          {allowedActions(job).log && <JobLogLink job={job} />}
          <CardMenu job={job} onRemoved={onRemoved} />
        </div>
      </div>
      <TensorboardLine board={job.tensorboard} onStop={() => stopJobTensorboard(job.id)} />
    </Paper>
  );
});

/** The job's other actions, in the same menu as those of a row. */
function CardMenu({ job, onRemoved }: Pick<Props, 'job' | 'onRemoved'>) {
  const [corner, setCorner] = useState<{ x: number; y: number } | null>(null);
  const [cancelling, setCancelling] = useState(false);
  return (
    <>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-haspopup="menu"
        aria-label={t`Actions of ${{ name: job.name }}`}
        onClick={({ currentTarget }) => {
          const { left, bottom } = currentTarget.getBoundingClientRect();
          setCorner({ x: left, y: bottom });
        }}
      >
        <Icon name="more" />
      </ActionIcon>
      {corner && (
        <RowMenu
          kind="menu"
          job={job}
          {...corner}
          onClose={() => setCorner(null)}
          onCancel={() => setCancelling(true)}
          onRemoved={onRemoved}
        />
      )}
      <CancelDialog job={job} opened={cancelling} onClose={() => setCancelling(false)} />
    </>
  );
}

function JobLogLink({ job }: { job: Job }) {
  return (
    <Button
      component={Link}
      to={`/jobs/${job.id}/log`}
      variant="subtle"
      color="gray"
      leftSection={<Icon name="log" />}
    >
      <Trans>Log</Trans>
    </Button>
  );
}
