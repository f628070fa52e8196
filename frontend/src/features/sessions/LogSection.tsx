import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Session } from '@/api/types';
import { LogView } from '@/features/log/LogView';
import type { Stream } from '@/features/log/source';
import { Fold } from '@/ui/Fold';
import classes from './SessionPage.module.css';

/** The session's log; loaded once the section is opened. */
export function LogSection({ session }: { session: Session }) {
  const [open, setOpen] = useState(false);
  const [stream, setStream] = useState<Stream>('stderr');
  return (
    <Fold summary={t`Log`} open={open} onToggle={setOpen}>
      <p className={classes.note}>
        {t`Output of Slurm and JupyterLab.`}{' '}
        <Link to="/sessions/$id/log" params={{ id: session.id }}>
          <Trans>Full-page log</Trans>
        </Link>
      </p>
      {open && (
        <div className={classes.log}>
          <LogView
            source={{ kind: 'sessions', id: session.id }}
            stream={stream}
            onStream={setStream}
            first="stderr"
          />
        </div>
      )}
    </Fold>
  );
}
