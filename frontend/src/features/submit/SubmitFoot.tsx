import { Button } from '@mantine/core';
import { StartEstimate } from '@/features/estimates/StartEstimate';
import type { Purpose } from '@/features/resources/resolveResources';
import type { FormDraft } from '@/lib/useFormDraft';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { StartOver } from '@/ui/RestoredForm';
import classes from './SubmitPage.module.css';
import type { JobResourcesState } from './useJobResources';
import type { Submitting } from './useSubmit';

interface Props {
  submitting: Submitting;
  resources: JobResourcesState;
  /** the template or environment of the start estimate */
  purpose: Purpose;
  onChoose: JobResourcesState['set'];
  label: string;
  draft: FormDraft;
  onStartOver: () => void;
}

/** The submit button with the start estimate. */
export function SubmitFoot(props: Props) {
  const { submitting, resources, purpose, onChoose, label, draft, onStartOver } = props;
  const { values, requested, fieldErrors } = resources;
  return (
    <>
      {submitting.submitErrors.general && (
        <div data-problem tabIndex={-1}>
          <Notice tone="error">{submitting.submitErrors.general}</Notice>
        </div>
      )}
      <div className={classes.foot}>
        <Button
          type="submit"
          size="md"
          loading={submitting.busy}
          leftSection={<Icon name="play" />}
        >
          {label}
        </Button>
        <StartOver draft={draft} onStartOver={onStartOver} />
        <StartEstimate
          request={{ resources: requested, ...purpose }}
          isValid={Object.keys(fieldErrors).length === 0}
          onChoose={({ nodes, account, qos, ...node }) =>
            onChoose({ ...values, nodes, account, qos, node })
          }
        />
      </div>
    </>
  );
}
