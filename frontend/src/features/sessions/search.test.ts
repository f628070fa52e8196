import { defaultParseSearch, defaultStringifySearch } from '@tanstack/react-router';
import { expect, it } from 'vitest';
import { readSessionSearch, readStartAgainSearch } from './search';

it('reads the dialog and the section that JupyterLab links to, and nothing else', () => {
  expect(readSessionSearch(defaultParseSearch('?stop=true'))).toEqual({ stop: true });
  for (const other of ['', '?stop=false', '?stop=1', '?stop="true"', '?start=true'])
    expect(readSessionSearch(defaultParseSearch(other))).toEqual({});
  expect(readSessionSearch(defaultParseSearch('?apps=true'))).toEqual({ apps: true });
  expect(defaultStringifySearch({})).toBe('');
});

it('reads the session that is to be started again', () => {
  expect(readStartAgainSearch({ restart: 'an-id' })).toEqual({ restart: 'an-id' });
  expect(readStartAgainSearch({ restart: 5 })).toEqual({});
});
