import { t } from '@lingui/core/macro';
import { ActionIcon, Popover, Skeleton, TextInput } from '@mantine/core';
import { type ReactNode, Suspense, useState } from 'react';
import { dateLocale } from '@/i18n';
import { fieldFormat, fieldText, isMoment, readField } from '@/lib/days';
import { isDay } from '@/lib/isoDays';
import { Icon } from './icons';
import { lazyPart } from './lazyPart';

const Calendar = lazyPart(async () => (await import('./Calendar')).Calendar);
const MIDNIGHT = '00:00';

interface Props {
  /** a day as "2026-11-22", or with `hasTime` "2026-11-22T06:00"; other texts are errors */
  value: string;
  onChange: (value: string) => void;
  hasTime?: boolean;
  label?: string;
  'aria-label'?: string;
  description?: string;
  error?: ReactNode;
  /** a word before the day */
  prefix?: ReactNode;
  prefixWidth?: number;
  className?: string | undefined;
}

/** A day, or a day with a time, as the reader's language and clock write it: typed, or chosen in a
 * calendar. */
export function DateField({ value, onChange, hasTime = false, error, ...props }: Props) {
  const { prefix, prefixWidth, ...field } = props;
  const [typed, setTyped] = useState<string | null>(null);
  const [isWrong, setWrong] = useState(false);
  const [opened, setOpened] = useState(false);
  const isValid = hasTime ? isMoment : isDay;
  const text = typed ?? fieldText(dateLocale(), value);
  const format = fieldFormat(dateLocale(), hasTime);
  const type = (next: string): void => {
    setTyped(next);
    setWrong(false);
    onChange(readField(dateLocale(), next, hasTime) ?? next.trim());
  };
  const leave = (): void => {
    const wrong = text.trim() !== '' && readField(dateLocale(), text, hasTime) === null;
    setWrong(wrong);
    if (!wrong) setTyped(null);
  };
  const choose = (day: string): void => {
    const time = isMoment(value) ? value.slice(11) : MIDNIGHT;
    setTyped(null);
    setWrong(false);
    setOpened(false);
    onChange(hasTime ? `${day}T${time}` : day);
  };
  const name = field.label ?? field['aria-label'] ?? '';
  return (
    <TextInput
      {...field}
      leftSection={prefix}
      leftSectionWidth={prefixWidth}
      placeholder={format}
      value={text}
      onChange={(event) => type(event.currentTarget.value)}
      onBlur={leave}
      error={isWrong ? t`Enter it as ${format}.` : error}
      autoComplete="off"
      spellCheck={false}
      rightSection={
        <Popover
          opened={opened}
          onChange={setOpened}
          position="bottom-end"
          trapFocus
          returnFocus
          shadow="md"
        >
          <Popover.Target>
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={t`Choose a day: ${name}`}
              onClick={() => setOpened(!opened)}
            >
              <Icon name="calendar" />
            </ActionIcon>
          </Popover.Target>
          <Popover.Dropdown>
            <Suspense fallback={<Skeleton height={240} width={252} aria-label={t`Loading`} />}>
              <Calendar value={isValid(value) ? value.slice(0, 10) : null} onChoose={choose} />
            </Suspense>
          </Popover.Dropdown>
        </Popover>
      }
    />
  );
}
