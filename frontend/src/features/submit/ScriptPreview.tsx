import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import { ScriptText } from '@/features/jobs/ScriptText';
import type { Answer } from '@/lib/useAnswer';
import { Fold } from '@/ui/Fold';
import type { Rendered } from './queries';
import classes from './SubmitPage.module.css';

interface Props {
  rendering: Answer<Rendered>;
  valid: boolean;
}

/** The script that would be submitted to Slurm. */
export function ScriptPreview({ rendering, valid }: Props) {
  const [open, setOpen] = useState(false);
  const { answer, failure } = rendering;
  const error = failure ?? answer?.error;
  return (
    <Fold summary={t`Batch script`} open={open} onToggle={setOpen}>
      {!valid && (
        <p className={classes.quiet}>
          <Trans>Shown once all fields are valid.</Trans>
        </p>
      )}
      {valid && error && <p className={classes.why}>{errorMessage(error)}</p>}
      {valid && !error && !answer && (
        <p className={classes.quiet}>
          <Trans>Generating it…</Trans>
        </p>
      )}
      {valid && !error && answer?.script && <ScriptText text={answer.script} />}
    </Fold>
  );
}
