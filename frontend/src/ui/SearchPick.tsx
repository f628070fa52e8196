import { t } from '@lingui/core/macro';
import { Combobox, Loader, Text, TextInput, useCombobox } from '@mantine/core';
import { sentence } from '@/api/problem';

interface Choice {
  name: string;
  /** what else helps to know it */
  about: string;
}

export interface Found {
  choices: Choice[] | undefined;
  error: Error | null;
  asking: boolean;
}

export interface PickProps {
  label: string;
  description?: string;
  placeholder?: string;
  /** who or what can't be picked any more */
  without?: readonly string[];
  disabled?: boolean;
  error?: string | undefined;
  /** false: what was typed stays, for it could not be done */
  onPick: (name: string) => unknown;
}

interface Props extends PickProps {
  text: string;
  setText: (text: string) => void;
  none: string;
  found: Found;
}

/** A text field that offers what it finds; Enter picks. */
export function SearchPick({ text, setText, found, none, without = [], onPick, ...field }: Props) {
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() });
  // Until the answer to what is typed is there, of the one before only what fits: Enter picks it.
  const fitting = found.asking ? found.choices?.filter(matches(text)) : found.choices;
  const choices = fitting?.filter(({ name }) => !without.includes(name)) ?? [];
  const pick = async (name: string): Promise<void> => {
    combobox.closeDropdown();
    if ((await onPick(name)) !== false) setText('');
  };
  return (
    <Combobox store={combobox} onOptionSubmit={(name) => void pick(name)}>
      <Combobox.Target>
        <TextInput
          {...field}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            combobox.openDropdown();
            combobox.resetSelectedOption();
          }}
          onClick={() => combobox.openDropdown()}
          onFocus={() => combobox.openDropdown()}
          onBlur={() => combobox.closeDropdown()}
          onKeyDown={(event) => {
            // Enter picks, and never sends the form around it.
            if (event.key === 'Enter') event.preventDefault();
          }}
          rightSection={found.asking && text !== '' ? <Loader size={16} /> : null}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Options mah={260} style={{ overflowY: 'auto' }}>
          {choices.map(({ name, about }) => (
            <Combobox.Option key={name} value={name}>
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                {name}
              </Text>
              {about !== '' && (
                <Text size="xs" c="dimmed" lineClamp={1}>
                  {about}
                </Text>
              )}
            </Combobox.Option>
          ))}
          {choices.length === 0 && (
            <Combobox.Empty>
              {found.error ? sentence(found.error) : found.asking ? t`Searching…` : none}
            </Combobox.Empty>
          )}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}

/** Whether a choice has every word in it that was typed. */
function matches(text: string): (choice: Choice) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return ({ name, about }) => {
    const all = `${name} ${about}`.toLowerCase();
    return words.every((word) => all.includes(word));
  };
}
