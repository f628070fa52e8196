import { Button } from '@mantine/core';
import { StartEstimate } from '@/features/estimates/StartEstimate';
import type { Purpose } from '@/features/start/completion';
import type { FormDraft } from '@/lib/useFormDraft';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { StartOver } from '@/ui/RestoredForm';
import classes from './SubmitPage.module.css';
import type { ResourcesState } from './useResources';
import type { Submitting } from './useSubmit';

interface Props {
  submitting: Submitting;
  resources: ResourcesState;
  /** the template or environment of the start estimate */
  purpose: Purpose;
  onChoose: ResourcesState['set'];
  label: string;
  kept: FormDraft;
  onStartOver: () => void;
}

/** The submit button with the start estimate. */
export function SubmitFoot(props: Props) {
  const { submitting, resources, purpose, onChoose, label, kept, onStartOver } = props;
  const { draft, requested, problems } = resources;
  return (
    <>
      {submitting.refusal.general && (
        <div data-problem tabIndex={-1}>
          <Notice tone="error">{submitting.refusal.general}</Notice>
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
        <StartOver draft={kept} onStartOver={onStartOver} />
        <StartEstimate
          request={{ resources: requested, ...purpose }}
          possible={Object.keys(problems).length === 0}
          onChoose={({ nodes, account, qos, ...node }) =>
            onChoose({ ...draft, nodes, account, qos, node })
          }
        />
      </div>
    </>
  );
}
