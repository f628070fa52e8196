import { t } from '@lingui/core/macro';
import { Combobox, TextInput, type TextInputProps, useCombobox } from '@mantine/core';
import { namesOf } from './draft';

interface Props extends Omit<TextInputProps, 'onChange'> {
  value: string;
  onChange: (value: string) => void;
  /** names that can be added; empty until they are loaded */
  suggestions: readonly string[];
}

/** An input for names separated by commas, with suggestions. */
export function NameField({ value, onChange, suggestions, ...field }: Props) {
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() });
  const names = namesOf(value);
  const typed = /[^\s,;]+$/.exec(value)?.[0] ?? '';
  const complete = names.filter((name) => name !== typed);
  const offered = suggestions.filter((name) => !complete.includes(name) && name.includes(typed));
  const pick = (name: string): void => {
    onChange(`${[...complete, name].join(', ')}, `); // ready for the next name
  };
  return (
    <Combobox store={combobox} onOptionSubmit={pick}>
      <Combobox.Target>
        <TextInput
          {...field}
          value={value}
          onChange={(event) => {
            onChange(event.currentTarget.value);
            combobox.openDropdown();
            combobox.resetSelectedOption();
          }}
          onClick={() => combobox.openDropdown()}
          onFocus={() => combobox.openDropdown()}
          onBlur={() => combobox.closeDropdown()}
        />
      </Combobox.Target>
      <Combobox.Dropdown hidden={offered.length === 0}>
        <Combobox.Options aria-label={t`Suggestions`} mah={220} style={{ overflowY: 'auto' }}>
          {offered.map((name) => (
            <Combobox.Option key={name} value={name}>
              {name}
            </Combobox.Option>
          ))}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}
