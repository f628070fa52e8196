import { getCatalogs } from '@lingui/cli/api';
import { getConfig } from '@lingui/conf';
import { compileMessage } from '@lingui/message-utils/compileMessage';
import { expect, it } from 'vitest';

const TAG = /<\/?\w+\/?>/g;

/** Return the placeholders and tags of a compiled message, including those in its plural forms. */
function partsOf(compiled) {
  return [compiled].flat().flatMap((token) => {
    if (typeof token === 'string') return token.match(TAG) ?? [];
    const [name, , forms = {}] = token;
    return [`{${name}}`, ...Object.values(forms).filter(Array.isArray).flatMap(partsOf)];
  });
}

/** Return them sorted, for comparison. "#" is left out: it depends on the language's plural rules. */
const parts = (text) => [...new Set(partsOf(compileMessage(text)))].sort().join(' ');

const entries = [];
for (const catalogue of await getCatalogs(getConfig()))
  entries.push(...Object.entries((await catalogue.read('zh')) ?? {}));

it('a translation has the placeholders and elements of its message', () => {
  expect(entries.length).toBeGreaterThan(1000);
  for (const [, { message = '', translation = '' }] of entries)
    expect(parts(translation), message).toBe(parts(message));
});

it('a message has the same translation in all catalogs', () => {
  const known = new Map();
  for (const [id, { message, translation }] of entries) {
    const hint = `${message}: give one of them a context`;
    if (known.has(id)) expect(translation, hint).toBe(known.get(id));
    known.set(id, translation);
  }
});
