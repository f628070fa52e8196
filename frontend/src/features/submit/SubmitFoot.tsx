import { Button } from '@mantine/core';
import { StartEstimate } from '@/features/estimates/StartEstimate';
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
  /** of what, beside its resources, the start is asked for */
  ask: { template?: string; environment?: string };
  onChoose: ResourcesState['set'];
  label: string;
  kept: FormDraft;
  onStartOver: () => void;
}

/** The button, and beside it when the job would start. */
export function SubmitFoot(props: Props) {
  const { submitting, resources, ask, onChoose, label, kept, onStartOver } = props;
  const { draft, asked, possible } = resources;
  return (
    <>
      {submitting.refusal.general && <Notice tone="error">{submitting.refusal.general}</Notice>}
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
          ask={{ resources: asked, ...ask }}
          possible={possible}
          onChoose={({ nodes, account, qos, ...node }) =>
            onChoose({ ...draft, nodes, account, qos, node })
          }
        />
      </div>
    </>
  );
}
