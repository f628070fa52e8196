import { t } from '@lingui/core/macro';
import { Checkbox, Stack } from '@mantine/core';
import type { Kind } from './news';
import type { Told } from './useTold';

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
  told: Told;
  onChange: (kind: Kind, on: boolean) => void;
  disabled?: boolean;
}

/** Of what one is told in one way. */
export function KindBoxes({ told, onChange, disabled = false }: Props) {
  return (
    <Stack gap="sm" mt="md">
      {KINDS.map((kind) => (
        <Checkbox
          key={kind}
          label={LABELS[kind][0]}
          description={LABELS[kind][1]}
          checked={told[kind]}
          disabled={disabled}
          onChange={(event) => onChange(kind, event.currentTarget.checked)}
        />
      ))}
    </Stack>
  );
}
