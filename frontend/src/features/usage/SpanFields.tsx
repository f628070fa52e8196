import { t } from '@lingui/core/macro';
import { SegmentedControl } from '@mantine/core';
import { clock } from '@/lib/clock';
import { MonthRange } from './MonthRange';
import type { UsageSearch } from './search';
import { type Span, type SpanChoice, withChoice } from './span';

interface Props {
  span: Span;
  search: UsageSearch;
  onChange: (search: UsageSearch) => void;
}

/** The choice of a range: 30 days, 12 months, or months with fields for them. */
export function SpanFields({ span, search, onChange }: Props) {
  return (
    <>
      <SegmentedControl<SpanChoice>
        aria-label={t`Range`}
        value={span.choice}
        onChange={(choice) => onChange(withChoice(search, choice, clock.now()))}
        data={[
          { value: 'days', label: t`30 days` },
          { value: 'year', label: t`12 months` },
          { value: 'months', label: t`Months…` },
        ]}
      />
      {span.choice === 'months' && (
        <MonthRange range={span} onChange={({ from, to }) => onChange({ ...search, from, to })} />
      )}
    </>
  );
}
