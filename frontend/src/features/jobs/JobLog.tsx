import { Trans } from '@lingui/react/macro';
import { useEffect, useRef } from 'react';
import type { LinePlace } from '@/features/log/ErrorLine';
import { LogView } from '@/features/log/LogView';
import { useStream } from '@/features/log/useStream';
import classes from './JobPage.module.css';

interface Props {
  id: string;
  /** a line to scroll to */
  shown: LinePlace | null;
}

/** The log on a job's page. */
export function JobLog({ id, shown }: Props) {
  const source = { kind: 'jobs', id } as const;
  const { stream, choose, onSilent } = useStream(source, 'stdout');
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (shown === null) return;
    choose(shown.stream);
    section.current?.scrollIntoView({ block: 'nearest' });
  }, [shown, choose]);
  return (
    <section aria-labelledby="log" ref={section}>
      <h2 id="log" className={classes.heading}>
        <Trans>Log</Trans>
      </h2>
      <LogView
        key={shown?.line}
        source={source}
        stream={stream}
        onStream={choose}
        onSilent={onSilent}
        first="stdout"
        find={shown?.line ?? ''}
        short
      />
    </section>
  );
}
