import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { MantineProvider } from '@mantine/core';
import { renderToString } from 'react-dom/server';
import { describe, expect, it, vi } from 'vitest';
import { ApiError } from '@/api/problem';
import { names, textOf } from '@/testing/markup';
import { RecordForm } from './RecordForm';

type Props = Parameters<typeof RecordForm>[0];

const form: Props['form'] = {
  startOver: vi.fn(),
  discard: vi.fn(),
  draft: { stored: {}, since: null, put: vi.fn(), drop: vi.fn() },
  ref: { current: null },
  busy: false,
  submit: vi.fn(),
  error: () => undefined,
  submitError: null,
  generalError: null,
};

const failed = { ...form, generalError: new ApiError(409, 'conflict', 'The name is taken.') };

const html = (props: Partial<Props> = {}): string =>
  renderToString(
    <I18nProvider i18n={i18n}>
      <MantineProvider>
        <RecordForm form={form} button="Save" {...props}>
          <input aria-label="Name" />
        </RecordForm>
      </MantineProvider>
    </I18nProvider>,
  );

describe('the frame of a form', () => {
  it('has a button that saves, and one that cancels where it can be closed', () => {
    expect(names(html(), 'button')).toEqual(['Save']);
    expect(names(html({ onCancel: vi.fn() }), 'button')).toEqual(['Cancel', 'Save']);
    expect(html({ disabled: true })).toMatch(/<button[^>]*disabled=""/);
  });

  it('shows an error that no field shows, or the message instead of it', () => {
    expect(textOf(html({ form: failed }))).toContain('The name is taken.');
    const own = html({ form: failed, message: <p>Another user saved first.</p> });
    expect(textOf(own)).toContain('Another user saved first.');
    expect(textOf(own)).not.toContain('The name is taken.');
  });

  it('offers to start over if a draft is restored', () => {
    const restored = { ...form, draft: { ...form.draft, since: 'before' as const } };
    expect(textOf(html({ form: restored }))).toContain('Your earlier entries are restored.');
    expect(textOf(html())).not.toContain('Your earlier entries are restored.');
  });

  it('is a named card on a page, with buttons of its own', () => {
    const card = html({ card: 'card', label: 'New user', foot: <button type="submit">Go</button> });
    expect(card).toMatch(/<form[^>]*aria-label="New user"/);
    expect(names(card, 'button')).toEqual(['Go']);
  });
});
