import { describe, expect, it } from 'vitest';
import type { components } from '@/api/schema';
import { cluster } from '@/testing/answers/cluster';
import { environments } from '@/testing/answers/environments';
import { isLoading, names, textOf, withRole } from '@/testing/markup';
import { ErrorAnswer, page } from '@/testing/page';
import { answers, FULL } from '@/testing/recorded';

type ResolvedRequests = components['schemas']['CompletionOut'];

describe('the page where sessions start', () => {
  it('has a card for each environment and each preset', async () => {
    const markup = await page('/start', FULL);
    const cards = names(markup, 'label');
    for (const { title } of environments.items)
      expect(
        cards.filter((name) => name.startsWith(title)),
        title,
      ).not.toEqual([]);
    for (const { title, description } of cluster.presets)
      expect(cards.filter((name) => name.startsWith(title)).join()).toContain(description);
    expect(cards.filter((name) => name.startsWith('Custom'))).toHaveLength(1);
    expect(markup.match(/<input[^>]*type="radio"[^>]*checked/g)?.length).toBe(2);
  });

  it('summarizes the session and its outlook', async () => {
    const markup = await page('/start', FULL);
    expect(textOf(markup)).toContain('1 GPU · 4 CPUs · 16 GB · 2 h');
    expect(textOf(markup)).toContain(
      'A node has these resources free now: it should start immediately.',
    );
    expect(names(markup, 'button')).toEqual(
      expect.arrayContaining(['Start session', 'Save this setup', 'Copy link']),
    );
  });

  it('begins with the values of its address', async () => {
    const markup = await page('/start?environment=r&gpus=0&cpus=3&memory_gb=6', FULL);
    expect(textOf(markup)).toMatch(/Your session R no GPU · 3 CPUs · 6 GB/);
  });

  const apps = [
    { name: 'mlflow', title: 'MLflow', input: null, environments: ['python3'] },
    { name: 'own', title: 'Your own web app', input: 'command', environments: ['python3', 'r'] },
  ].map((app) => ({ description: '', extensions: [], ...app }));
  const withApps = { ...FULL, answers: { ...answers, '/apps': { items: apps } } };

  it('offers to open the session with an app that needs no input', async () => {
    const markup = await page('/start?environment=python3&starter=python3.ipynb', withApps);
    expect(names(markup, 'label')).toContain('Open with');
    expect(names(markup, 'option')).toEqual(expect.arrayContaining(['JupyterLab', 'MLflow']));
    expect(names(markup, 'option')).not.toContain('Your own web app');
    expect(textOf(markup)).toContain('Opens python3.ipynb');
    expect(textOf(markup)).not.toContain('Opens with');
  });

  it('opens no notebook together with an app', async () => {
    const link = '/start?environment=python3&starter=python3.ipynb&app=mlflow';
    const markup = await page(link, withApps);
    expect(textOf(markup)).toContain('Opens with MLflow');
    expect(textOf(markup)).not.toContain('Opens python3.ipynb');
    expect(names(markup, 'label').filter((name) => name.includes('starter notebook'))).toEqual([]);
  });

  it('falls back to JupyterLab in an environment without the app, and says so', async () => {
    const markup = await page('/start?environment=r&app=mlflow', withApps);
    expect(withRole(markup, 'alert').join()).toContain(
      "A session in this environment can't open with MLflow. It opens with JupyterLab.",
    );
    expect(names(markup, 'option')).not.toContain('MLflow');
    expect(textOf(markup)).not.toContain('Opens with MLflow');
    const without = await page('/start?environment=r', withApps);
    expect(names(without, 'label')).not.toContain('Open with');
  });

  it('shows why an environment is unavailable', async () => {
    const reason = 'Its image has not been imported yet.';
    const items = environments.items.map((environment) =>
      environment.name === 'r'
        ? { ...environment, available: false, unavailable_reason: reason }
        : environment,
    );
    const markup = await page('/start', {
      ...FULL,
      answers: { ...answers, '/environments': { items } },
    });
    expect(textOf(markup)).toContain(reason);
  });

  it('shows the errors that the portal would return', async () => {
    const complete = answers['/resources'] as (body: unknown) => ResolvedRequests;
    const errorsOf = (field: string) => [{ field, message: `No ${field}.` }];
    const refused = (body: unknown): ResolvedRequests => ({
      errors: errorsOf('name'),
      items: complete(body).items.map((item) => ({ ...item, errors: errorsOf('resources.cpus') })),
    });
    const limits = { ...(answers['/me/limits'] as object), no_session: 'You may have no session.' };
    const markup = await page('/start', {
      ...FULL,
      answers: { ...answers, '/resources': refused, '/me/limits': limits },
    });
    const disabledCards = names(markup, 'label').filter((name) => name.includes('No resources'));
    expect(disabledCards).toHaveLength(cluster.presets.length);
    expect(markup.match(/type="radio"[^>]*disabled/g)).toHaveLength(cluster.presets.length);
    expect(markup.match(/<input[^>]*aria-invalid="true"/g)?.length).toBe(2);
    const text = textOf(markup);
    for (const message of ['No resources.cpus.', 'No name.', 'You may have no session.'])
      expect(text).toContain(message);
  });

  it('reports missing environments, and Slurm without a response', async () => {
    const none = { ...answers, '/environments': { items: [] } };
    expect(textOf(await page('/start', { answers: none }))).toContain('has no environments yet');
    const unknown = { ...cluster, at: null, nodes: 0, partitions: [] };
    const markup = await page('/start', { answers, snapshot: { cluster: unknown } });
    expect(textOf(markup)).toContain('Slurm has not responded yet');
    expect(names(markup, 'button')).not.toContain('Start session');
  });

  it('shows loading and an error', async () => {
    expect(isLoading(await page('/start', { snapshot: null, early: true }))).toBe(true);
    const failing = { '/environments': new ErrorAnswer(403, 'Not now.') };
    const markup = await page('/start', { answers: failing });
    expect(withRole(markup, 'alert').join()).toContain('Not now.');
  });
});
