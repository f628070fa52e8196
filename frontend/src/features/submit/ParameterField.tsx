import { t } from '@lingui/core/macro';
import { Checkbox, NativeSelect, NumberInput, Textarea, TextInput } from '@mantine/core';
import { joinSentences } from '@/i18n/lists';
import { translateExact } from '@/i18n/translate';
import { choiceKey, type Field, rangeText, type Typed } from './fields';
import classes from './SubmitPage.module.css';

interface Props {
  field: Field;
  value: Typed;
  problem: string | undefined;
  onChange: (value: Typed) => void;
}

/** What the parameters of the portal's own templates count; a site's other units stand as they are. */
const UNITS: Readonly<Record<string, string>> = {
  epochs: t`epochs`,
  examples: t`examples`,
  images: t`images`,
  inputs: t`inputs`,
  neurons: t`neurons`,
  pixels: t`pixels`,
  times: t`times`,
};

/** Attributes of what a machine reads: nothing is corrected or filled in. */
const EXACT = { autoComplete: 'off', autoCapitalize: 'none', spellCheck: false } as const;
/** From here on a text doesn't fit a line. */
const LONG = 60;

function label({ title, unit, nullable }: Field): string {
  const name = translateExact(title);
  const named = unit === null || title.toLowerCase().includes(unit.toLowerCase());
  const counted = named ? name : t`${name} (${{ unit: UNITS[unit] ?? unit }})`;
  return nullable ? t`${counted}, optional` : counted;
}

function description(field: Field): string | undefined {
  const range = field.widget === 'number' ? rangeText(field.rule) : '';
  const limits = `${range.charAt(0).toUpperCase()}${range.slice(1)}`;
  const parts = [translateExact(field.description) ?? '', range && t`${limits}.`];
  return joinSentences(parts.filter((part) => part !== '')) || undefined;
}

/** One parameter's field, as its template describes it. */
export function ParameterField({ field, value, problem, onChange }: Props) {
  const common = { label: label(field), description: description(field), error: problem };
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
          // A text would be shown without its e: "1e-7" as 17; a number is written out.
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
      return value.includes('\n') || value.length > LONG ? (
        <Textarea {...common} {...EXACT} value={value} onChange={onText} rows={3} />
      ) : (
        <TextInput {...common} {...EXACT} value={value} onChange={onText} />
      );
  }
}
