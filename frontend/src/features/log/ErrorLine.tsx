import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorMessage } from '@/api/problem';
import { plainOutput } from '@/lib/terminal';
import classes from '@/ui/CardList.module.css';
import { Icon } from '@/ui/icons';
import { errorLine } from './findError';
import { LogTail } from './LogTail';
import { logTailQuery } from './queries';
import type { LogSource, Stream } from './source';

/** A line of a log, identified by its text. */
export interface FoundLine {
  stream: Stream;
  line: string;
}

interface Props {
  source: LogSource;
  endedAt: string | null;
  /** on a page with the log: scrolls to the line */
  onShow?: (found: FoundLine) => void;
}

/** The error of a failed job or session: the line with the error, then the lines around it. */
export function ErrorLine({ source, endedAt, onShow }: Props) {
  const { data, error } = useQuery(logTailQuery(source, endedAt));
  if (error) return <p className={classes.quiet}>{errorMessage(error)}</p>;
  if (data === undefined)
    return (
      <p className={classes.quiet}>
        <Trans>Loading the log…</Trans>
      </p>
    );
  const line = errorLine(plainOutput(data.text));
  if (line === null)
    return (
      <p className={classes.quiet}>
        <Trans>No output.</Trans>
      </p>
    );
  return (
    <>
      <p className={classes.errorLine}>{line}</p>
      {onShow && (
        <div>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<Icon name="log" size={14} />}
            onClick={() => onShow({ stream: data.stream, line })}
          >
            <Trans>Show it in the log</Trans>
          </Button>
        </div>
      )}
      <LogTail source={source} endedAt={endedAt} opened={false} />
    </>
  );
}
