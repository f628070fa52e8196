import { SegmentedControl } from '@mantine/core';
import { plainOutput } from '@/lib/terminal';
import { Notice } from '@/ui/Notice';
import { CopyButton } from './CopyButton';
import classes from './LogPage.module.css';
import { LogText } from './LogText';
import type { LogOf, Stream } from './source';
import { useLog } from './useLog';

const STATE_TEXT = {
  loading: 'Reading…',
  following: 'Following: new lines appear by themselves.',
  broken: 'Connection lost, trying again…',
  complete: 'This is all of it.',
} as const;

const STREAMS: { value: Stream; label: string }[] = [
  { value: 'stdout', label: 'Output' },
  { value: 'stderr', label: 'Messages' },
];

interface Props {
  of: LogOf;
  stream: Stream;
  onStream: (stream: Stream) => void;
  /** which of the two comes first */
  first: Stream;
}

/** What was printed, followed while it is being written. */
export function LogView({ of, stream, onStream, first }: Props) {
  const log = useLog(of, stream);
  const text = plainOutput(log.text);
  return (
    <>
      <div className={classes.bar}>
        <SegmentedControl
          aria-label="Which output"
          value={stream}
          onChange={(value) => onStream(value === 'stdout' ? 'stdout' : 'stderr')}
          data={first === 'stdout' ? STREAMS : [...STREAMS].reverse()}
        />
        <CopyButton text={text} />
      </div>
      {log.error && <Notice tone="error">{log.error}</Notice>}
      {log.cut && <p className={classes.note}>Only the end of this long log is shown.</p>}
      <LogText text={text} empty={log.state === 'loading' ? 'Reading…' : 'Nothing printed yet.'} />
      <p className={classes.note} role="status">
        {STATE_TEXT[log.state]}
      </p>
    </>
  );
}
