import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Checkbox, SegmentedControl } from '@mantine/core';
import { useEffect, useState } from 'react';
import { sizeText } from '@/lib/sizes';
import { CopyButton } from '@/ui/CopyButton';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { plainText } from './doc';
import { FindBar } from './FindBar';
import classes from './LogPage.module.css';
import { LogText } from './LogText';
import { emptyText, stateText } from './labels';
import { downloadUrl, type LogSource, type Stream } from './source';
import { useFind } from './useFind';
import { type Log, useLog } from './useLog';
import { staysEmpty } from './useStream';

const STREAMS: { value: Stream; label: string }[] = [
  { value: 'stdout', label: 'stdout' },
  { value: 'stderr', label: 'stderr' },
];

interface Props {
  source: LogSource;
  stream: Stream;
  onStream: (stream: Stream) => void;
  /** the stream to show first */
  first: Stream;
  /** called when the log is empty and stays so */
  onEmpty?: () => void;
  /** the initial search text */
  find?: string;
  /** for pages that show more than the log */
  fitContent?: boolean;
}

/** A log, followed while it is written. */
export function LogView(props: Props) {
  const { source, stream, onStream, onEmpty, first, find = '', fitContent = false } = props;
  const log = useLog(source, stream);
  const empty = staysEmpty(log);
  useEffect(() => {
    if (empty) onEmpty?.();
  }, [empty, onEmpty]);
  const finder = useFind(log.doc, find);
  const [wrap, setWrap] = useState(true);
  return (
    <>
      <div className={classes.bar}>
        <SegmentedControl
          aria-label={t`Log stream`}
          value={stream}
          onChange={(value) => onStream(value === 'stdout' ? 'stdout' : 'stderr')}
          data={first === 'stdout' ? STREAMS : [...STREAMS].reverse()}
        />
        <div className={classes.buttons}>
          <CopyButton text={() => plainText(log.doc)} disabled={log.doc.characters === 0} />
          <Button
            component="a"
            href={downloadUrl(source, stream)}
            download
            variant="default"
            leftSection={<Icon name="download" />}
          >
            <Trans>Download</Trans>
          </Button>
        </div>
      </div>
      <div className={classes.bar}>
        <FindBar finder={finder} partly={log.bytesBefore !== 0} />
        <Checkbox
          className={classes.wrap}
          label={t`Wrap lines`}
          checked={wrap}
          onChange={(event) => setWrap(event.currentTarget.checked)}
        />
      </div>
      {log.error && <Notice tone="error">{log.error}</Notice>}
      <Earlier log={log} />
      <LogText
        doc={log.doc}
        label={stream}
        empty={emptyText(log)}
        matches={finder.result.matches}
        current={finder.current}
        wrap={wrap}
        fitContent={fitContent}
      />
      <p className={classes.note} role="status">
        {empty ? '' : stateText(log)}
      </p>
    </>
  );
}

/** The note that the log has an earlier part, with a button to load it. */
function Earlier({ log: { bytesBefore, isLoadingEarlier, loadEarlier } }: { log: Log }) {
  if (bytesBefore === 0) return null;
  if (bytesBefore === null)
    return (
      <p className={classes.note}>
        <Trans>Only the end of this long log is shown. Download it to have all of it.</Trans>
      </p>
    );
  return (
    <div className={classes.earlier}>
      <Button
        size="compact-sm"
        variant="default"
        loading={isLoadingEarlier}
        leftSection={<Icon name="up" size={14} />}
        onClick={loadEarlier}
      >
        <Trans>Load earlier lines</Trans>
      </Button>
      <span>{t`${{ size: sizeText(bytesBefore) }} of this log is not loaded.`}</span>
    </div>
  );
}
