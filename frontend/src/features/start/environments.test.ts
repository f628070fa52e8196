import { describe, expect, it } from 'vitest';
import { inEnvironmentOrder } from './environments';

const one = (title: string, framework: string | null, gpu = 'none', available = true) =>
  ({ title, framework, gpu, available }) as Parameters<typeof inEnvironmentOrder>[0][number];

describe('inEnvironmentOrder', () => {
  it('begins with what serves everybody and ends with what can’t be used', () => {
    const all = [
      one('Digits', 'digits', 'required', false),
      one('Caffe', 'caffe'),
      one('R', null),
      one('Python 2', null),
      one('PyTorch', 'pytorch', 'optional'),
      one('Python 3', null, 'optional'),
    ];
    expect(inEnvironmentOrder(all).map((e) => e.title)).toEqual([
      'Python 3',
      'Python 2',
      'R',
      'Caffe',
      'PyTorch',
      'Digits',
    ]);
  });
});
