import { t } from '@lingui/core/macro';
import { ActionIcon } from '@mantine/core';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { dateLocale } from '@/i18n';
import { addDays, addMonths, dayAt, dayIn, firstWeekday, weeksOf } from '@/lib/days';
import classes from './Calendar.module.css';
import { Icon } from './icons';

interface Props {
  /** the chosen day, as "2026-11-22" */
  value: string | null;
  onChoose: (day: string) => void;
}

/** Return where a key leads from a day; null for other keys. */
function dayAfterKey(key: string, day: string, firstDay: number): string | null {
  const weekday = (new Date(day).getUTCDay() - firstDay + 7) % 7;
  switch (key) {
    case 'ArrowLeft':
      return addDays(day, -1);
    case 'ArrowRight':
      return addDays(day, 1);
    case 'ArrowUp':
      return addDays(day, -7);
    case 'ArrowDown':
      return addDays(day, 7);
    case 'Home':
      return addDays(day, -weekday);
    case 'End':
      return addDays(day, 6 - weekday);
    case 'PageUp':
      return addMonths(day, -1);
    case 'PageDown':
      return addMonths(day, 1);
    default:
      return null;
  }
}

/** A month, in which the arrow keys move from day to day. */
export function Calendar({ value, onChoose }: Props) {
  const today = dayAt(new Date());
  const [active, setActive] = useState(value ?? today);
  const firstDay = firstWeekday(dateLocale());
  const weeks = weeksOf(active, firstDay);
  const button = useRef<HTMLButtonElement>(null);
  const follows = useRef(true); // the focus is on the day, also when it opens
  // biome-ignore lint/correctness/useExhaustiveDependencies: the focus moves with the day
  useEffect(() => {
    if (follows.current) button.current?.focus();
    follows.current = false;
  }, [active]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = dayAfterKey(event.key, active, firstDay);
    if (next === null) return;
    event.preventDefault();
    follows.current = true;
    setActive(next);
  };
  const month = dayIn(dateLocale(), active, { month: 'long', year: 'numeric' });
  return (
    <div className={classes.calendar}>
      <div className={classes.head}>
        <MonthButton
          label={t`Previous month`}
          onClick={() => setActive(addMonths(active, -1))}
          isBack
        />
        <span className={classes.month} aria-live="polite">
          {month}
        </span>
        <MonthButton label={t`Next month`} onClick={() => setActive(addMonths(active, 1))} />
      </div>
      <table aria-label={month}>
        <thead>
          <tr>
            {weeks[0]?.map((day) => (
              <th key={day} scope="col" abbr={dayIn(dateLocale(), day, { weekday: 'long' })}>
                {dayIn(dateLocale(), day, { weekday: 'short' })}
              </th>
            ))}
          </tr>
        </thead>
        <tbody onKeyDown={onKeyDown}>
          {weeks.map((week) => (
            <tr key={week[0]}>
              {week.map((day) => (
                <td key={day}>
                  <button
                    type="button"
                    ref={day === active ? button : undefined}
                    tabIndex={day === active ? 0 : -1}
                    className={classes.day}
                    data-other={day.slice(0, 7) !== active.slice(0, 7) || undefined}
                    data-chosen={day === value || undefined}
                    aria-pressed={day === value}
                    aria-current={day === today ? 'date' : undefined}
                    aria-label={dayIn(dateLocale(), day, { dateStyle: 'full' })}
                    onClick={() => onChoose(day)}
                  >
                    {Number(day.slice(8))}
                  </button>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface MonthButtonProps {
  label: string;
  isBack?: boolean;
  onClick: () => void;
}

function MonthButton({ label, isBack = false, onClick }: MonthButtonProps) {
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={label}
      className={isBack ? classes.back : undefined}
      onClick={onClick}
    >
      <Icon name="right" />
    </ActionIcon>
  );
}
