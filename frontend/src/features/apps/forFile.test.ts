import { describe, expect, it } from 'vitest';
import { appsForFile } from './forFile';

const app = (name: string, input: 'file' | 'command' | null, ...extensions: string[]) => ({
  name,
  input,
  extensions,
});

describe('the apps that open a file', () => {
  const apps = [
    app('marimo', 'file', '.py'),
    app('viewer', 'file', '.csv', '.tar.gz'),
    app('own', 'command'),
    app('plain', null),
    app('any', 'file'),
  ];
  const opening = (name: string) => appsForFile(apps, name).map((each) => each.name);

  it('declare the ending of its name', () => {
    expect(opening('demo.py')).toEqual(['marimo']);
    expect(opening('data.tar.gz')).toEqual(['viewer']);
    expect(opening('demo.pyc')).toEqual([]);
  });

  it('are none for a name without an ending, even if an app accepts every file', () => {
    expect(opening('README')).toEqual([]);
    expect(opening('py')).toEqual([]);
  });
});
