import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Stack, Text, Title, useMantineColorScheme } from '@mantine/core';
import { storeClock, storedClock } from '@/i18n/clockFormat';
import type { ClockFormat } from '@/i18n/language';
import classes from '@/ui/AccountSection.module.css';
import { ChoiceCard } from '@/ui/ChoiceCard';
import { SCHEMES } from './schemes';

/** The color scheme and the time format, stored in this browser. */
export function AppearanceSection() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Paper className={classes.section} component="section" aria-labelledby="appearance">
      <Title order={2} size="h4" id="appearance" mb="xs">
        <Trans>Appearance</Trans>
      </Title>
      <Text size="sm" mb="md">
        <Trans>This is kept in this browser only.</Trans>
      </Text>
      <fieldset className={classes.choices} aria-labelledby="appearance">
        <Stack gap="xs">
          {SCHEMES.map(({ value, label, description }) => (
            <ChoiceCard
              key={value}
              group="appearance"
              value={value}
              checked={colorScheme === value}
              onChoose={() => setColorScheme(value)}
              title={label}
            >
              <Text size="sm" c="dimmed">
                {description}
              </Text>
            </ChoiceCard>
          ))}
        </Stack>
      </fieldset>
      <TimeFormat />
    </Paper>
  );
}

const CLOCK_LABELS: readonly [ClockFormat | null, string][] = [
  [null, t`Same as browser`],
  ['h23', t`24 hours: 21:05`],
  ['h12', t`12 hours: 9:05 PM`],
];

/** The clock of all times; the pages read it when they load. */
function TimeFormat() {
  const chosen = storedClock();
  const choose = (clock: ClockFormat | null): void => {
    if (storeClock(clock)) window.location.reload();
  };
  return (
    <>
      <Title order={3} size="h5" id="time-format" mt="lg" mb="xs">
        <Trans>Time format</Trans>
      </Title>
      <fieldset className={classes.choices} aria-labelledby="time-format">
        <Stack gap="xs">
          {CLOCK_LABELS.map(([clock, label]) => (
            <ChoiceCard
              key={label}
              group="time-format"
              value={clock ?? ''}
              checked={chosen === clock}
              onChoose={() => choose(clock)}
              title={label}
            />
          ))}
        </Stack>
      </fieldset>
    </>
  );
}
