import { t } from '@lingui/core/macro';
import { Combobox, Loader, Text, TextInput, useCombobox } from '@mantine/core';
import { errorMessage } from '@/api/problem';

interface Choice {
  name: string;
  /** a description that helps to identify it */
  about: string;
}

export interface Suggestions {
  choices: Choice[] | undefined;
  error: Error | null;
  pending: boolean;
}

export interface PickProps {
  label: string;
  description?: string;
  placeholder?: string;
  /** names that are not offered */
  without?: readonly string[];
  disabled?: boolean;
  error?: string | undefined;
  /** false: keep the typed text, because the action failed */
  onPick: (name: string) => unknown;
}

interface Props extends PickProps {
  text: string;
  setText: (text: string) => void;
  none: string;
  suggestions: Suggestions;
}

/** A text field with suggestions; Enter picks one. */
export function SearchPick({
  text,
  setText,
  suggestions,
  none,
  without = [],
  onPick,
  ...field
}: Props) {
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() });
  // Until the response to the typed text arrives, offer the previous response's choices that still
  // match, because Enter picks one.
  const fitting = suggestions.pending
    ? suggestions.choices?.filter(matches(text))
    : suggestions.choices;
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
            // Enter picks, and never submits the form around it.
            if (event.key === 'Enter') event.preventDefault();
          }}
          rightSection={suggestions.pending && text !== '' ? <Loader size={16} /> : null}
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
              {suggestions.error
                ? errorMessage(suggestions.error)
                : suggestions.pending
                  ? t`Searching…`
                  : none}
            </Combobox.Empty>
          )}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}

/** Return a filter for choices that contain every typed word. */
function matches(text: string): (choice: Choice) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return ({ name, about }) => {
    const all = `${name} ${about}`.toLowerCase();
    return words.every((word) => all.includes(word));
  };
}
