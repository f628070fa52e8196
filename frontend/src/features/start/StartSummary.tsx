import { Button, Paper } from '@mantine/core';
import { resourceTexts } from '@/features/sessions/words';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { KeepSetup } from './KeepSetup';
import { generalRefusal } from './refusal';
import { StartOutlook } from './StartOutlook';
import classes from './StartPage.module.css';
import type { StartFormState } from './useStartForm';

/** What is about to be started, when it would run, and the button. */
export function StartSummary({ start, busy }: { start: StartFormState; busy: boolean }) {
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
      <ul className={classes.asked}>
        {resourceTexts(draft).map((text) => (
          <li key={text}>{text}</li>
        ))}
        {start.starter && <li>opens {start.starter}</li>}
      </ul>
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
        title={environment ? suggestedName(environment.title, resourceTexts(draft)[0]) : ''}
        disabled={environment === undefined}
      />
    </Paper>
  );
}

/** "PyTorch, 1 v100 GPU" */
const suggestedName = (title: string, gpus: string | undefined): string =>
  [title, gpus].filter(Boolean).join(', ').slice(0, 60);
