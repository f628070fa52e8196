import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper } from '@mantine/core';
import type { ResourceFormValues } from '@/features/resources/requestedResources';
import { isComplete } from '@/features/resources/values';
import { translateExact } from '@/i18n/translate';
import { gpuRequestText, resourceTexts } from '@/lib/resourceLabels';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { StartOver } from '@/ui/RestoredForm';
import { SaveSetup } from './SaveSetup';
import { MAX_SETUP_NAME } from './SetupList';
import { StartOutlook } from './StartOutlook';
import classes from './StartPage.module.css';
import { generalMessage } from './submitError';
import type { StartFormState } from './useStartForm';

interface Props {
  start: StartFormState;
  busy: boolean;
}

/** The chosen session, its expected start, and the button that starts it. */
export function StartSummary({ start, busy, onStartOver }: Props & { onStartOver: () => void }) {
  const { environment, values, starter, openWith } = start;
  const title = translateExact(environment?.title);
  const message = generalMessage(start.submitError);
  return (
    <Paper component="section" className={classes.summary} aria-labelledby="summary">
      <h2 className={classes.heading} id="summary">
        <Trans>Your session</Trans>
      </h2>
      <p className={classes.environment}>
        <strong>{title ?? t`No environment is available`}</strong>
      </p>
      <p className={classes.resources}>{valuesText(values)}</p>
      {openWith.chosen && (
        <p className={classes.resources}>
          {t`Opens with ${{ app: translateExact(openWith.chosen.title) }}`}
        </p>
      )}
      {starter && (
        <p className={classes.resources}>
          <Trans>Opens {starter}</Trans>
        </p>
      )}
      {(message || start.noSessionReason) && (
        <div data-problem tabIndex={-1} className={classes.problem}>
          {message && <Notice tone="error">{message}</Notice>}
          {start.noSessionReason && <Notice tone="warning">{start.noSessionReason}</Notice>}
        </div>
      )}
      {!message && !start.noSessionReason && (
        <StartOutlook
          values={values}
          cluster={start.cluster}
          environment={environment}
          isValid={Object.keys(start.fieldErrors).length === 0 && start.nameError === null}
          onChoose={start.setCustomResources}
        />
      )}
      <Button
        className={classes.submit}
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
        app={openWith.chosen?.name}
        title={title ? suggestedName(title, values) : ''}
        disabled={environment === undefined || !isComplete(values)}
      />
      <StartOver draft={start.draft} onStartOver={onStartOver} />
    </Paper>
  );
}

/** The start button at the foot of a narrow screen, where the summary is far below. */
export function StartBar({ start, busy }: Props) {
  const { environment, values } = start;
  return (
    <div className={classes.bar}>
      <p>
        <strong>{translateExact(environment?.title)}</strong>
        <span className={classes.quiet}>{valuesText(values)}</span>
      </p>
      <Button type="submit" loading={busy} disabled={environment === undefined}>
        <Trans>Start session</Trans>
      </Button>
    </div>
  );
}

/** Return the resources as text, as in "1 v100 GPU · 2 CPUs · 4 GB · 4 h". */
const valuesText = (values: ResourceFormValues): string =>
  isComplete(values) ? resourceTexts(values).join(' · ') : t`Some values are still missing.`;

/** Return a name for a setup, as in "PyTorch, 1 v100 GPU". */
const suggestedName = (title: string, { gpus, gpu_type }: ResourceFormValues): string =>
  `${title}, ${gpuRequestText({ gpus, gpu_type })}`.slice(0, MAX_SETUP_NAME);
