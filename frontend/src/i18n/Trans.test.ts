import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { Trans } from './Trans';

function shown(name: string): string {
  const message = 'Stop <0>{name}</0>, or {name}?';
  const components = { 0: createElement('b') };
  const text = createElement(Trans, { id: 'x', message, values: { name }, components });
  return renderToStaticMarkup(createElement(I18nProvider, { i18n }, text));
}

it('puts values into its text', () => {
  expect(shown('sea')).toBe('Stop <b>sea</b>, or sea?');
});

it('shows the markup that a name has', () => {
  const name = '&lt;i&gt;a&lt;/i&gt;&lt;0&gt;b&lt;/0&gt;';
  expect(shown('<i>a</i><0>b</0>')).toBe(`Stop <b>${name}</b>, or ${name}?`);
});
