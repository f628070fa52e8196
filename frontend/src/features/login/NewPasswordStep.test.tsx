import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { MantineProvider } from '@mantine/core';
import { renderToString } from 'react-dom/server';
import { expect, it } from 'vitest';
import { textOf } from '@/testing/markup';
import { NewPasswordStep } from './NewPasswordStep';

it('states the rules for the new password before one is typed', () => {
  const markup = renderToString(
    <I18nProvider i18n={i18n}>
      <MantineProvider>
        <NewPasswordStep username="alice" current="once" onDone={() => {}} onBack={() => {}} />
      </MantineProvider>
    </I18nProvider>,
  );
  expect(textOf(markup)).toContain(
    "At most 1024 characters, and not the one-time password. Your organization's directory may",
  );
});
