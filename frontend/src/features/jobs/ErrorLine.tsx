import { useQuery } from '@tanstack/react-query';
import { sentence } from '@/api/problem';
import { logTailQuery } from '@/features/log/queries';
import type { LogOf } from '@/features/log/source';
import { LogTail } from '@/features/sessions/LogTail';
import { plainOutput } from '@/lib/terminal';
import classes from './Jobs.module.css';
import { errorLine } from './words';

/** What a failed job said last: the line with the error, then the lines around it. */
export function ErrorLine({ of }: { of: LogOf }) {
  const { data, error } = useQuery(logTailQuery(of));
  if (error) return <p className={classes.quiet}>{sentence(error)}</p>;
  if (data === undefined) return <p className={classes.quiet}>Reading its log…</p>;
  const line = errorLine(plainOutput(data.text));
  if (line === null) return <p className={classes.quiet}>It printed nothing.</p>;
  return (
    <>
      <p className={classes.errorLine}>{line}</p>
      <LogTail of={of} opened={false} />
    </>
  );
}
