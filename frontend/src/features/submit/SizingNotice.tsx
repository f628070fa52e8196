import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import type { Sizing } from '@/api/types';
import { Notice } from '@/ui/Notice';
import classes from './SubmitPage.module.css';
import type { ComparedWith } from './sizing';
import { fieldsText, hintTexts } from './sizingTexts';
import type { JobResourcesState } from './useJobResources';

export interface SizingProps {
  sizing: Sizing;
  resources: JobResourcesState;
  source: ComparedWith;
  /** runs a change of the form */
  onChange: (apply: () => void) => void;
}

const RESTORE_LABELS: Record<ComparedWith, string> = {
  template: t`Restore the template's values`,
  job: t`Restore that job's values`,
  script: t`Restore my values`,
};

/** The usage of earlier runs, and a button that applies the suggested resources or restores the values
 * without them. */
export function SizingNotice({ sizing, resources, source, onChange }: SizingProps) {
  const { suggested } = resources;
  const texts = hintTexts(sizing, suggested.fields, source);
  return (
    <Notice tone="info">
      <div className={classes.sizing}>
        {texts.map((text) => (
          <p key={text}>{text}</p>
        ))}
        {suggested.applied && (
          <p>
            <Trans>The values are filled in accordingly, with some headroom.</Trans>
          </p>
        )}
        {suggested.otherShape ? (
          <p>
            <Trans>
              Those runs used different numbers of nodes or GPUs: this one may need more.
            </Trans>
          </p>
        ) : (
          'time_limit_minutes' in suggested.fields && (
            <p>
              <Trans>Set a longer time limit if this run has more work to do.</Trans>
            </p>
          )
        )}
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => onChange(suggested.applied ? suggested.restore : suggested.apply)}
        >
          {suggested.applied
            ? RESTORE_LABELS[source]
            : t`Use ${{ numbers: fieldsText(suggested.fields) }}`}
        </Button>
      </div>
    </Notice>
  );
}
