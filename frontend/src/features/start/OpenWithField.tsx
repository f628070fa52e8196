import { t } from '@lingui/core/macro';
import { NativeSelect, Stack } from '@mantine/core';
import { translateExact } from '@/i18n/translate';
import { Notice } from '@/ui/Notice';
import type { OpenWithChoice } from './useOpenWith';

interface Props {
  openWith: OpenWithChoice;
  /** null for JupyterLab */
  onChoose: (name: string | null) => void;
}

/** The choice of JupyterLab or an app; nothing if the environment offers no app. */
export function OpenWithField({ openWith: { offered, chosen, missing }, onChoose }: Props) {
  if (offered.length === 0 && missing === null) return null;
  return (
    <Stack gap="xs">
      <NativeSelect
        label={t`Open with`}
        description={t`JupyterLab stays available from the session's card.`}
        value={chosen?.name ?? ''}
        onChange={(event) => onChoose(event.currentTarget.value || null)}
        data={[
          { value: '', label: 'JupyterLab' },
          ...offered.map(({ name, title }) => ({ value: name, label: translateExact(title) })),
        ]}
        maw={380}
      />
      {missing !== null && (
        <Notice tone="warning" urgent>
          {t`A session in this environment can't open with ${{ app: translateExact(missing) }}. It opens with JupyterLab.`}
        </Notice>
      )}
    </Stack>
  );
}
