import { t } from '@lingui/core/macro';
import { Checkbox, NativeSelect } from '@mantine/core';
import type { Environment } from '@/api/types';

interface Props {
  environment: Environment | undefined;
  chosen: string | null;
  onChoose: (name: string | null) => void;
  error: string | null;
}

const COPIED = t`It is copied to your home directory. If a file with this name already exists there, that file is opened unchanged.`;

/** The choice of a starter notebook; nothing if the environment has none. */
export function StarterChoice({ environment, chosen, onChoose, error }: Props) {
  const starters = environment?.starters ?? [];
  const [only] = starters;
  if (only === undefined) return null;
  if (starters.length === 1)
    return (
      <Checkbox
        label={t`Open ${only}, a starter notebook`}
        description={COPIED}
        checked={chosen !== null}
        onChange={(event) => onChoose(event.currentTarget.checked ? only : null)}
        error={error}
      />
    );
  return (
    <NativeSelect
      label={t`Starter notebook`}
      description={COPIED}
      value={chosen ?? ''}
      onChange={(event) => onChoose(event.currentTarget.value || null)}
      data={[{ value: '', label: t`None` }, ...starters]}
      error={error}
      maw={380}
    />
  );
}
