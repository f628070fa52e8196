import { t } from '@lingui/core/macro';
import { Checkbox, Stack } from '@mantine/core';
import type { Kind } from './notifications';
import type { KindChoices } from './useNotifySettings';

const LABELS: Record<Kind, readonly [label: string, description: string]> = {
  session_started: [t`A session is ready`, t`When your session starts after waiting in the queue.`],
  job_ended: [t`A job has ended`, t`Includes the outcome and the reason.`],
  time_short: [
    t`Time runs out`,
    t`15 minutes before a session or job reaches its time limit, or later if it is short.`,
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
