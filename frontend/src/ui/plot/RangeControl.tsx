import { t } from '@lingui/core/macro';
import { SegmentedControl } from '@mantine/core';
import { duration } from '@/lib/time';
import { type RangeChoice, rangeChoices } from './series';

interface Props {
  /** the times of the series, in seconds since 1970 */
  at: readonly number[];
  value: RangeChoice;
  onChange: (choice: RangeChoice) => void;
}

const label = (choice: RangeChoice): string =>
  choice === 'all' ? t`All` : t`Last ${{ time: duration(choice * 1000) }}`;

/** The choice of the time range that charts show; absent while the series is short. */
export function RangeControl({ at, value, onChange }: Props) {
  const choices = rangeChoices(at);
  if (choices.length < 2) return null;
  return (
    <SegmentedControl
      size="xs"
      aria-label={t`Time range of the charts`}
      data={choices.map((choice) => ({ value: String(choice), label: label(choice) }))}
      value={String(choices.includes(value) ? value : 'all')}
      onChange={(chosen) => onChange(choices.find((each) => String(each) === chosen) ?? 'all')}
    />
  );
}
