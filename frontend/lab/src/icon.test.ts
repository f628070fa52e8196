import { describe, expect, it } from 'vitest';
import { logoOf } from '@/ui/logos';
import { makeAppIcon, makeIcon } from './icon';
import type { Shared } from './jupyter';

class LabIcon {
  constructor(readonly options: { name: string; svgstr: string }) {}
}
const ui = { LabIcon } as unknown as Shared['@jupyterlab/ui-components'];

const drawn = (icon: unknown): { name: string; svgstr: string } => (icon as LabIcon).options;

describe('an icon in JupyterLab', () => {
  it('of an app is its logo', () => {
    const { name, svgstr } = drawn(makeAppIcon(ui, { name: 'gradio', title: 'Gradio' }));
    expect(name).toBe('data-scientist-portal:app-gradio');
    expect(svgstr).toContain(logoOf('Gradio')?.path);
  });

  it('of another app has its initials, and no markup of its title', () => {
    const { svgstr } = drawn(makeAppIcon(ui, { name: 'x', title: '<b>&"' }));
    expect(svgstr).toContain('>b</text>');
    expect(svgstr).not.toContain('<b');
  });

  it('is left out by a JupyterLab without them', () => {
    expect(makeIcon(undefined, 'panel')).toBeUndefined();
    expect(drawn(makeIcon(ui, 'panel')).svgstr).toContain('<path');
  });
});
