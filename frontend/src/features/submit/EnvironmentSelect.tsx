import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { NativeSelect } from '@mantine/core';
import type { Environment } from '@/api/types';
import { translate, translateExact } from '@/i18n/translate';
import formClasses from '@/ui/FormPage.module.css';

interface Props {
  choices: readonly Environment[];
  chosen: string;
  error: string | undefined;
  onChoose: (name: string) => void;
}

/** The choice of a template's environment. */
export function EnvironmentSelect({ choices, chosen, error, onChoose }: Props) {
  return (
    <fieldset className={formClasses.group}>
      <legend>
        <Trans>Environment</Trans>
      </legend>
      <NativeSelect
        aria-label={t`Environment`}
        description={translate(choices.find(({ name }) => name === chosen)?.description)}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        maw={420}
        value={chosen}
        onChange={(event) => onChoose(event.currentTarget.value)}
        error={error}
        data={choices.map(({ name, title }) => ({ value: name, label: translateExact(title) }))}
      />
    </fieldset>
  );
}
