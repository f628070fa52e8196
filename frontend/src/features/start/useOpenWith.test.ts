import { describe, expect, it } from 'vitest';
import type { CatalogApp } from '@/api/types';
import { toOpenWithChoice } from './useOpenWith';

const app = (
  name: string,
  title: string,
  input: CatalogApp['input'],
  ...environments: string[]
) => ({
  name,
  title,
  description: '',
  input,
  extensions: [],
  environments,
});
const APPS = [
  app('mlflow', 'MLflow', null, 'python3'),
  app('own', 'Your own web app', 'command', 'python3', 'r'),
  app('vscode', 'VS Code', null, 'python3', 'r'),
];
const MLFLOW = { name: 'mlflow', title: 'MLflow' };
const VSCODE = { name: 'vscode', title: 'VS Code' };

describe('the app with which a session opens', () => {
  it('is JupyterLab unless another is chosen', () => {
    const offered = [MLFLOW, VSCODE];
    expect(toOpenWithChoice(APPS, 'python3', null)).toEqual({
      offered,
      chosen: null,
      missing: null,
    });
    expect(toOpenWithChoice(APPS, 'python3', 'mlflow').chosen).toEqual(MLFLOW);
    expect(toOpenWithChoice(undefined, 'python3', null).offered).toEqual([]);
    expect(toOpenWithChoice(APPS, undefined, null).offered).toEqual([]);
  });

  it('is JupyterLab in an environment that does not offer it', () => {
    expect(toOpenWithChoice(APPS, 'r', 'mlflow')).toEqual({
      offered: [VSCODE],
      chosen: null,
      missing: 'MLflow',
    });
    expect(toOpenWithChoice([], 'r', 'mlflow').missing).toBe('mlflow');
  });

  it('is none that needs a file or a command', () => {
    expect(toOpenWithChoice(APPS, 'r', 'own')).toMatchObject({
      chosen: null,
      missing: 'Your own web app',
    });
  });

  it('is kept while the apps are unknown', () => {
    expect(toOpenWithChoice(undefined, 'python3', 'mlflow')).toEqual({
      offered: [{ name: 'mlflow', title: 'mlflow' }],
      chosen: { name: 'mlflow', title: 'mlflow' },
      missing: null,
    });
  });
});
