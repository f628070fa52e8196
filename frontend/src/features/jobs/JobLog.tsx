import { Trans } from '@lingui/react/macro';
import { useEffect, useRef } from 'react';
import type { LinePosition } from '@/features/log/ErrorLine';
import { LogView } from '@/features/log/LogView';
import { useStream } from '@/features/log/useStream';
import classes from './JobPage.module.css';

interface Props {
  id: string;
  /** a line to scroll to */
  position: LinePosition | null;
}

/** The log on a job's page. */
export function JobLog({ id, position }: Props) {
  const source = { kind: 'jobs', id } as const;
  const { stream, choose, onSilent } = useStream(source, 'stdout');
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (position === null) return;
    choose(position.stream);
    section.current?.scrollIntoView({ block: 'nearest' });
  }, [position, choose]);
  return (
    <section aria-labelledby="log" ref={section}>
      <h2 id="log" className={classes.heading}>
        <Trans>Log</Trans>
      </h2>
      <LogView
        key={position?.line}
        source={source}
        stream={stream}
        onStream={choose}
        onSilent={onSilent}
        first="stdout"
        find={position?.line ?? ''}
        fitContent
      />
    </section>
  );
}
