import { setupI18n } from '@lingui/core';
import { expect, it } from 'vitest';
import { compileCached } from '.';
import { keepEscapes } from './escapes';

const i18n = setupI18n({ locale: 'en', messages: { en: {} } });
i18n.setMessagesCompiler(compileCached);
keepEscapes(i18n);

it('a value keeps what looks like an escape', () => {
  const name = '\\u202egnp.exe \\x41 \\\\';
  const text = `Delete ${name}?`;
  expect(i18n._('Delete {name}?', { name })).toBe(text);
  expect(i18n._({ id: 'Delete {name}?', values: { name } })).toBe(text);
});

it('numbers and texts without values stay as they are', () => {
  const message = '{count, plural, one {# job} other {# jobs}}';
  expect(i18n._(message, { count: 2 })).toBe('2 jobs');
  expect(i18n._('Jobs')).toBe('Jobs');
});
