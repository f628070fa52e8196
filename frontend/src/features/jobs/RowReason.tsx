import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Popover, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { translate } from '@/i18n/translate';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { JobError } from './JobError';
import { hasErrorLine, jobReason } from './labels';
import { PopupAnchor } from './PopupAnchor';
import type { RowPopup } from './RowMenu';
import classes from './RowReason.module.css';
import { useReturnedFocus } from './useReturnedFocus';

interface Props extends RowPopup {
  onClose: () => void;
}

/** The reason for a job's state; for one that failed, with the error in its log. */
export function RowReason({ job, x, y, onClose }: Props) {
  useReturnedFocus();
  const name = escapeInvisible(job.name);
  const isError = hasErrorLine(job);
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
        <PopupAnchor x={x} y={y} />
      </Popover.Target>
      <Popover.Dropdown
        aria-label={isError ? t`Error of ${name}` : t`Reason for the state of ${name}`}
      >
        <Stack gap="xs" className={classes.reason}>
          <p>
            {jobReason(job)} <span>{translate(job.suggestion)}</span>
          </p>
          {isError && (
            <>
              <JobError job={job} />
              <Link to="/jobs/$id/log" params={{ id: job.id }}>
                <Trans>Open the log</Trans>
              </Link>
            </>
          )}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
