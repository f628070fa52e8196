import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { sentence } from '@/api/problem';
import { logTailQuery } from '@/features/log/queries';
import type { LogOf, Stream } from '@/features/log/source';
import { LogTail } from '@/features/sessions/LogTail';
import { plainOutput } from '@/lib/terminal';
import { Icon } from '@/ui/icons';
import classes from './Jobs.module.css';
import { errorLine } from './words';

/** Where a line stands in a log. */
export interface LinePlace {
  stream: Stream;
  line: string;
}

interface Props {
  of: LogOf;
  endedAt: string | null;
  /** on a page that has the log: goes to where the line stands in it */
  onShow?: (place: LinePlace) => void;
}

/** What a failed job said last: the line with the error, then the lines around it. */
export function ErrorLine({ of, endedAt, onShow }: Props) {
  const { data, error } = useQuery(logTailQuery(of, endedAt));
  if (error) return <p className={classes.quiet}>{sentence(error)}</p>;
  if (data === undefined)
    return (
      <p className={classes.quiet}>
        <Trans>Reading its log…</Trans>
      </p>
    );
  const line = errorLine(plainOutput(data.text));
  if (line === null)
    return (
      <p className={classes.quiet}>
        <Trans>It printed nothing.</Trans>
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
      <LogTail of={of} endedAt={endedAt} opened={false} />
    </>
  );
}
