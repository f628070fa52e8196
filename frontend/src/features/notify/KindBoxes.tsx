import { t } from '@lingui/core/macro';
import { Checkbox, Stack } from '@mantine/core';
import type { Kind } from './notifications';
import type { KindChoices } from './useNotifySettings';

const LABELS: Record<Kind, readonly [label: string, description: string]> = {
  session_started: [t`A session is ready`, t`So that you needn’t watch it wait for its GPUs.`],
  job_ended: [t`A job has ended`, t`With how it ended, and why.`],
  time_short: [
    t`Time runs out`,
    t`A quarter of an hour before a session or job is ended, or later if it is short itself.`,
  ],
};
const KINDS = Object.keys(LABELS) as Kind[];

interface Props {
  choices: KindChoices;
  onChange: (kind: Kind, on: boolean) => void;
  disabled?: boolean;
}

/** Checkboxes for the events of one channel. */
export function KindBoxes({ choices, onChange, disabled = false }: Props) {
  return (
    <Stack gap="sm" mt="md">
      {KINDS.map((kind) => (
        <Checkbox
          key={kind}
          label={LABELS[kind][0]}
          description={LABELS[kind][1]}
          checked={choices[kind]}
          disabled={disabled}
          onChange={(event) => onChange(kind, event.currentTarget.checked)}
        />
      ))}
    </Stack>
  );
}
