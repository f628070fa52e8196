import { MantineProvider } from '@mantine/core';
import { renderToString } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { Time } from './Time';

const html = (at: string, relative: boolean): string =>
  renderToString(
    <MantineProvider>
      <Time at={at} relative={relative} />
    </MantineProvider>,
  ).replaceAll('<!-- -->', '');

const before = (ms: number): string => new Date(Date.now() - ms).toISOString();

describe('a time', () => {
  it('is absolute, with UTC in the tooltip', () => {
    const at = '2026-03-01T12:03:09Z';
    expect(html(at, false)).toContain('title="2026-03-01 12:03:09 UTC"');
    expect(html(at, true)).not.toContain('ago');
  });

  it('of the last day is relative on request, and absolute in the tooltip and for screen readers', () => {
    const at = before(4 * 60_000 + 1000);
    const shown = html(at, true);
    expect(shown).toContain('>4 min ago<');
    expect(shown).toMatch(/title="\d\d:\d\d.* · .* UTC"|title=".*\d\d:\d\d.* · .* UTC"/);
    expect(shown).toMatch(/> \(.*\d\d:\d\d.*\)<\/span>/);
    expect(html(at, false)).not.toContain('ago');
  });
});
