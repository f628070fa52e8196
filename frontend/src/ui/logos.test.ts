import { describe, expect, it } from 'vitest';
import { hueOf, initialsOf, logoOf } from './logos';

describe('the logo of a framework or app', () => {
  it('is found with a version', () => {
    expect(logoOf('pytorch 2.13')?.title).toBe('PyTorch');
    expect(logoOf('python3')?.title).toBe('Python');
    expect(logoOf('R')?.title).toBe('R');
    expect(logoOf('MLflow')?.title).toBe('MLflow');
  });

  it('is never that of another', () => {
    for (const name of ['VS Code', 'caffe2 (pytorch 1.7)', 'R2D2', 'rapids', 'constructor', '']) {
      expect(logoOf(name)).toBeUndefined();
    }
  });
});

describe('the tile of a framework without a logo', () => {
  it('has its initials', () => {
    expect(initialsOf('Caffe2 (pytorch 1.7)')).toBe('Ca');
    expect(initialsOf(' <b>')).toBe('b');
    expect(initialsOf('数据')).toBe('数据');
    expect(initialsOf('')).toBe('');
  });

  it('always has the same color', () => {
    expect(hueOf('JAX')).toBe(hueOf('JAX'));
    expect(hueOf('')).toBe(0);
    expect(hueOf('x'.repeat(300))).toBeLessThan(6);
  });
});
