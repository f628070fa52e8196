import { Button, Paper } from '@mantine/core';
import { gpuText } from '@/features/sessions/words';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { StartOver } from '@/ui/StartOver';
import type { Draft } from './check';
import { draftText, isComplete } from './draft';
import { KeepSetup } from './KeepSetup';
import { generalRefusal } from './refusal';
import { StartOutlook } from './StartOutlook';
import classes from './StartPage.module.css';
import type { StartFormState } from './useStartForm';

interface Props {
  start: StartFormState;
  busy: boolean;
}

/** What is about to be started, when it would run, and the button. */
export function StartSummary({ start, busy, onStartOver }: Props & { onStartOver: () => void }) {
  const { environment, draft } = start;
  const refusal = generalRefusal(start.refusal);
  return (
    <Paper component="section" className={classes.summary} aria-labelledby="summary">
      <h2 className={classes.heading} id="summary">
        Your session
      </h2>
      <p className={classes.what}>
        <strong>{environment?.title ?? 'No environment is available'}</strong>
      </p>
      <p className={classes.asked}>{draftText(draft)}</p>
      {start.starter && <p className={classes.asked}>Opens {start.starter}</p>}
      {start.noRoom ? (
        <Notice tone="warning">{start.noRoom}</Notice>
      ) : (
        <StartOutlook
          draft={draft}
          cluster={start.cluster}
          environment={environment}
          possible={!start.blocked}
          onChoose={start.takeDraft}
        />
      )}
      {refusal && <Notice tone="error">{refusal}</Notice>}
      <Button
        className={classes.here}
        type="submit"
        size="md"
        fullWidth
        loading={busy}
        disabled={environment === undefined}
        leftSection={<Icon name="play" />}
      >
        Start session
      </Button>
      <KeepSetup
        request={start.request}
        title={environment ? suggestedName(environment.title, draft) : ''}
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
        <strong>{environment?.title}</strong>
        <span className={classes.quiet}>{draftText(draft)}</span>
      </p>
      <Button type="submit" loading={busy} disabled={environment === undefined}>
        Start session
      </Button>
    </div>
  );
}

/** "PyTorch, 1 v100 GPU" */
const suggestedName = (title: string, { gpus, gpu_type }: Draft): string =>
  `${title}, ${gpuText({ gpus, gpu_type })}`.slice(0, 60);
