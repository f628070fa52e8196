import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Popover, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { readable } from '@/features/files/paths';
import { translate } from '@/i18n/translate';
import { JobError } from './JobError';
import { jobReason } from './labels';
import classes from './RowError.module.css';
import type { RowPopup } from './RowMenu';
import { useReturnedFocus } from './useReturnedFocus';

interface Props extends RowPopup {
  onClose: () => void;
}

/** The reason why a job failed, with the error in its log. */
export function RowError({ job, x, y, onClose }: Props) {
  useReturnedFocus();
  return (
    <Popover
      opened
      onChange={(opened) => !opened && onClose()}
      position="bottom-end"
      width="min(40rem, 90vw)"
      shadow="md"
      trapFocus
    >
      <Popover.Target>
        <span style={{ position: 'fixed', left: x, top: y }} />
      </Popover.Target>
      <Popover.Dropdown aria-label={t`Error of ${{ name: readable(job.name) }}`}>
        <Stack gap="xs" className={classes.error}>
          <p>
            {jobReason(job)} <span>{translate(job.suggestion)}</span>
          </p>
          <JobError job={job} />
          <Link to="/jobs/$id/log" params={{ id: job.id }}>
            <Trans>Open the log</Trans>
          </Link>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
