import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper } from '@mantine/core';
import { translateExact } from '@/i18n/translate';
import { gpuText } from '@/lib/resourceLabels';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { StartOver } from '@/ui/RestoredForm';
import type { Draft } from './check';
import { draftText, isComplete } from './draft';
import { generalRefusal } from './refusal';
import { SaveSetup } from './SaveSetup';
import { StartOutlook } from './StartOutlook';
import classes from './StartPage.module.css';
import type { StartFormState } from './useStartForm';

interface Props {
  start: StartFormState;
  busy: boolean;
}

/** What is about to be started, when it would run, and the button. */
export function StartSummary({ start, busy, onStartOver }: Props & { onStartOver: () => void }) {
  const { environment, draft, starter } = start;
  const title = translateExact(environment?.title);
  const refusal = generalRefusal(start.refusal);
  return (
    <Paper component="section" className={classes.summary} aria-labelledby="summary">
      <h2 className={classes.heading} id="summary">
        <Trans>Your session</Trans>
      </h2>
      <p className={classes.what}>
        <strong>{title ?? t`No environment is available`}</strong>
      </p>
      <p className={classes.asked}>{draftText(draft)}</p>
      {starter && (
        <p className={classes.asked}>
          <Trans>Opens {starter}</Trans>
        </p>
      )}
      {(refusal || start.noRoom) && (
        <div data-problem tabIndex={-1} className={classes.problem}>
          {refusal && <Notice tone="error">{refusal}</Notice>}
          {start.noRoom && <Notice tone="warning">{start.noRoom}</Notice>}
        </div>
      )}
      {!refusal && !start.noRoom && (
        <StartOutlook
          draft={draft}
          cluster={start.cluster}
          environment={environment}
          possible={!start.blocked}
          onChoose={start.takeDraft}
        />
      )}
      <Button
        className={classes.here}
        type="submit"
        size="md"
        fullWidth
        loading={busy}
        disabled={environment === undefined}
        leftSection={<Icon name="play" />}
      >
        <Trans>Start session</Trans>
      </Button>
      <SaveSetup
        request={start.request}
        title={title ? suggestedName(title, draft) : ''}
        disabled={environment === undefined || !isComplete(draft)}
      />
      <StartOver draft={start.kept} onStartOver={onStartOver} />
    </Paper>
  );
}

/** The same button where the summary is far below: it stays at the foot of a narrow screen. */
export function StartBar({ start, busy }: Props) {
  const { environment, draft } = start;
  return (
    <div className={classes.bar}>
      <p>
        <strong>{translateExact(environment?.title)}</strong>
        <span className={classes.quiet}>{draftText(draft)}</span>
      </p>
      <Button type="submit" loading={busy} disabled={environment === undefined}>
        <Trans>Start session</Trans>
      </Button>
    </div>
  );
}

/** "PyTorch, 1 v100 GPU" */
const suggestedName = (title: string, { gpus, gpu_type }: Draft): string =>
  `${title}, ${gpuText({ gpus, gpu_type })}`.slice(0, 60);
