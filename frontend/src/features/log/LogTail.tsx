import { t } from '@lingui/core/macro';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import { plainOutput } from '@/lib/terminal';
import { Fold } from '@/ui/Fold';
import classes from './LogTail.module.css';
import { logTailQuery } from './queries';
import type { LogSource } from './source';

/** The number of lines shown. */
const LINES = 12;

/** Scroll to the end, as the cause is usually in the very last line. */
function scrollToEnd(box: HTMLPreElement | null): void {
  if (box) box.scrollTop = box.scrollHeight;
}

interface Props {
  source: LogSource;
  endedAt: string | null;
  opened?: boolean;
}

/** The last lines of a failed session's or job's log, which often contain the cause. */
export function LogTail({ source, endedAt, opened = true }: Props) {
  const [open, setOpen] = useState(opened);
  const { data, error } = useQuery({ ...logTailQuery(source, endedAt), enabled: open });
  const text = data === undefined ? null : plainOutput(data.text).trimEnd();
  return (
    <Fold className={classes.tail} summary={t`The log's last lines`} open={open} onToggle={setOpen}>
      {error && <p className={classes.note}>{errorMessage(error)}</p>}
      {text === '' && <p className={classes.note}>{t`No output.`}</p>}
      {text && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it
        <pre ref={scrollToEnd} tabIndex={0}>
          {text.split('\n').slice(-LINES).join('\n')}
        </pre>
      )}
    </Fold>
  );
}
