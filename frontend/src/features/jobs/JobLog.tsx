import { Trans } from '@lingui/react/macro';
import { useEffect, useRef } from 'react';
import type { FoundLine } from '@/features/log/ErrorLine';
import { LogView } from '@/features/log/LogView';
import { useStream } from '@/features/log/useStream';
import classes from './JobPage.module.css';

interface Props {
  id: string;
  /** the line to scroll to */
  found: FoundLine | null;
}

/** The log on a job's page. */
export function JobLog({ id, found }: Props) {
  const source = { kind: 'jobs', id } as const;
  const { stream, choose, onEmpty } = useStream(source, 'stdout');
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (found === null) return;
    choose(found.stream);
    section.current?.scrollIntoView({ block: 'nearest' });
  }, [found, choose]);
  return (
    <section aria-labelledby="log" ref={section}>
      <h2 id="log" className={classes.heading}>
        <Trans>Log</Trans>
      </h2>
      <LogView
        key={found?.line}
        source={source}
        stream={stream}
        onStream={choose}
        onEmpty={onEmpty}
        first="stdout"
        find={found?.line ?? ''}
        fitContent
      />
    </section>
  );
}
