import { t } from '@lingui/core/macro';
import { Checkbox, NativeSelect, NumberInput, Textarea, TextInput } from '@mantine/core';
import { joinSentences } from '@/i18n/lists';
import { translateExact } from '@/i18n/translate';
import { choiceKey, type Field, rangeText, type TypedValue } from './fields';
import classes from './SubmitPage.module.css';

interface Props {
  field: Field;
  value: TypedValue;
  error: string | undefined;
  onChange: (value: TypedValue) => void;
}

/** Translated units of the portal's own templates; a site's other units are shown unchanged. */
const UNITS: Readonly<Record<string, string>> = {
  epochs: t`epochs`,
  examples: t`examples`,
  images: t`images`,
  inputs: t`inputs`,
  neurons: t`neurons`,
  pixels: t`pixels`,
  times: t`times`,
};

/** Input attributes without autocorrection, for values that programs read. */
const EXACT = { autoComplete: 'off', autoCapitalize: 'none', spellCheck: false } as const;
/** Longer texts get several lines. */
const MAX_LINE_LENGTH = 60;

function label({ title, unit, nullable }: Field): string {
  const name = translateExact(title);
  const needsNoUnit = unit === null || title.toLowerCase().includes(unit.toLowerCase());
  const withUnit = needsNoUnit ? name : t`${name} (${{ unit: UNITS[unit] ?? unit }})`;
  return nullable ? t`${withUnit}, optional` : withUnit;
}

function description(field: Field): string | undefined {
  const range = field.widget === 'number' ? rangeText(field.rule) : '';
  const limits = `${range.charAt(0).toUpperCase()}${range.slice(1)}`;
  const parts = [translateExact(field.description) ?? '', range && t`${limits}.`];
  return joinSentences(parts.filter((part) => part !== '')) || undefined;
}

/** The input of one parameter, by its field's widget. */
export function ParameterField({ field, value, error, onChange }: Props) {
  const common = { label: label(field), description: description(field), error };
  if (typeof value === 'boolean')
    return (
      <Checkbox
        {...common}
        checked={value}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  const onText = (event: { currentTarget: { value: string } }): void =>
    onChange(event.currentTarget.value);
  switch (field.widget) {
    case 'choice':
      return (
        <NativeSelect
          {...common}
          value={value}
          onChange={onText}
          data={[
            ...(value === '' ? [{ value: '', label: t`Choose…` }] : []),
            ...(field.rule.choices ?? []).map((choice) => ({
              value: choiceKey(choice),
              label: choice === null ? t`None` : translateExact(String(choice)),
            })),
          ]}
        />
      );
    case 'number':
      return (
        <NumberInput
          {...common}
          // NumberInput drops the e of a string: "1e-7" becomes 17. It writes numbers out.
          value={value.includes('e') ? Number(value) : value}
          onChange={(next) => onChange(String(next))}
          allowDecimal={field.rule.kind !== 'integer'}
          clampBehavior="none"
          hideControls={field.rule.kind !== 'integer'}
        />
      );
    case 'list':
      return (
        <Textarea
          {...common}
          {...EXACT}
          classNames={{ input: classes.exact }}
          value={value}
          onChange={onText}
          rows={Math.min(10, Math.max(3, value.split('\n').length))}
        />
      );
    default:
      return value.includes('\n') || value.length > MAX_LINE_LENGTH ? (
        <Textarea {...common} {...EXACT} value={value} onChange={onText} rows={3} />
      ) : (
        <TextInput {...common} {...EXACT} value={value} onChange={onText} />
      );
  }
}
