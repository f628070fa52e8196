import { Trans } from '@lingui/react/macro';
import { useEffect, useRef, useState } from 'react';
import { LogView } from '@/features/log/LogView';
import type { Stream } from '@/features/log/source';
import type { LinePlace } from './ErrorLine';
import classes from './JobPage.module.css';

interface Props {
  id: string;
  /** a line that somebody wants to see */
  shown: LinePlace | null;
}

/** The log on a job's page. */
export function JobLog({ id, shown }: Props) {
  const [stream, setStream] = useState<Stream>('stdout');
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (shown === null) return;
    setStream(shown.stream);
    section.current?.scrollIntoView({ block: 'nearest' });
  }, [shown]);
  return (
    <section aria-labelledby="log" ref={section}>
      <h2 id="log" className={classes.heading}>
        <Trans>Log</Trans>
      </h2>
      <LogView
        key={shown?.line}
        of={{ kind: 'jobs', id }}
        stream={stream}
        onStream={setStream}
        first="stdout"
        find={shown?.line ?? ''}
        short
      />
    </section>
  );
}
