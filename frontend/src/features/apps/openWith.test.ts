import { expect, it } from 'vitest';
import { readOpenWith, toOpenWithState } from './openWith';

const VSCODE = { name: 'vscode', title: 'VS Code' };

it('keeps the app in the history state, and nothing for JupyterLab', () => {
  expect(readOpenWith(toOpenWithState(VSCODE))).toEqual(VSCODE);
  expect(toOpenWithState(null)).toEqual({});
  expect(readOpenWith({})).toBeNull();
});

it('ignores a state of another form', () => {
  for (const openWith of [null, 'vscode', {}, { name: 'vscode' }, { name: 1, title: 'VS Code' }])
    expect(readOpenWith({ openWith } as never)).toBeNull();
});
