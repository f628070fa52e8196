import { t } from '@lingui/core/macro';
import { NativeSelect } from '@mantine/core';
import { clock } from '@/lib/clock';
import { lastMonths, monthOf, monthText, type Range, rangeOf } from './months';

const MONTHS_OFFERED = 36;

interface Props {
  range: Range;
  onChange: (range: Range) => void;
}

/** Fields for a range of months, both inclusive. */
export function MonthRange({ range, onChange }: Props) {
  const now = monthOf(clock.now());
  const offered = lastMonths(now, MONTHS_OFFERED);
  const months = (chosen: string) =>
    (offered.includes(chosen) ? offered : [chosen, ...offered]).map((month) => ({
      value: month,
      label: monthText(month),
    }));
  const change = (change: Partial<Range>): void => onChange(rangeOf({ ...range, ...change }, now));
  return (
    <>
      <NativeSelect
        label={t`From`}
        data={months(range.from)}
        value={range.from}
        onChange={(event) => change({ from: event.currentTarget.value })}
      />
      <NativeSelect
        label={t`To`}
        data={months(range.to)}
        value={range.to}
        onChange={(event) => change({ to: event.currentTarget.value })}
      />
    </>
  );
}
