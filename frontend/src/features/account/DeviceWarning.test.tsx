import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { MantineProvider } from '@mantine/core';
import { renderToString } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { textOf } from '@/testing/markup';
import { DeviceWarning } from './DeviceWarning';

const ELSEWHERE = "This device isn't in the network of this browser.";

function warning(sameNetwork: boolean): string {
  i18n.load('en', {});
  i18n.activate('en');
  return textOf(
    renderToString(
      <I18nProvider i18n={i18n}>
        <MantineProvider>
          <DeviceWarning sameNetwork={sameNetwork} />
        </MantineProvider>
      </I18nProvider>,
    ),
  );
}

describe('the warning before a login of a device is confirmed', () => {
  it('names another network than that of the browser', () => {
    expect(warning(false)).toContain(ELSEWHERE);
  });

  it('is about codes of other users in the same network, too', () => {
    expect(warning(true)).toContain('from someone else');
    expect(warning(true)).not.toContain(ELSEWHERE);
  });
});
