import { Trans } from '@lingui/react/macro';
import { Paper, Stack, Text, Title, useMantineColorScheme } from '@mantine/core';
import classes from '@/ui/AccountSection.module.css';
import { ChoiceCard } from '@/ui/ChoiceCard';
import { SCHEMES } from './schemes';

/** Light or dark, kept in this browser. */
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
    </Paper>
  );
}
