import { NumberInput } from '@mantine/core';
import { useState } from 'react';
import { SAME_UNIT, shownNumber, typedNumber, type Unit } from './numbers';

interface Props {
  label: string;
  /** null while the field is empty */
  value: number | null;
  onChange: (value: number | null) => void;
  min: number;
  /** the number of decimals */
  decimals?: number;
  /** the displayed unit, if it differs from the value's */
  unit?: Unit;
  error: string | undefined;
}

/** A number field that keeps the typed text; an error is shown below it, not corrected. */
export function NumberField(props: Props) {
  const { label, value, onChange, min, decimals = 0, unit = SAME_UNIT, error } = props;
  const [typed, setTyped] = useState<string | number | null>(null);
  return (
    <NumberInput
      label={label}
      value={shownNumber(typed, value, unit)}
      onChange={(next) => {
        setTyped(next);
        onChange(unit.read(typedNumber(next)));
      }}
      // From now on show the value itself: "1." becomes 1.
      onBlur={() => setTyped(null)}
      min={min}
      allowDecimal={decimals > 0}
      decimalScale={decimals}
      clampBehavior="none"
      error={error}
    />
  );
}
