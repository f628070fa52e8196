import { describe, expect, it } from 'vitest';
import { curlExample, daysText, lifetimes, scopesFor, usualLifetime } from './tokens';

describe('access tokens', () => {
  it('offers the times that the portal allows', () => {
    expect(lifetimes(365).map(({ value }) => value)).toEqual(['7', '30', '90', '180', '365']);
    expect(lifetimes(45).map(({ value }) => value)).toEqual(['7', '30', '45']);
    expect(lifetimes(7).map(({ value }) => value)).toEqual(['7']);
    expect(lifetimes(1)).toEqual([{ value: '1', label: 'one day' }]);
  });

  it('defaults to a month, or to the longest time allowed', () => {
    expect(usualLifetime(365)).toBe('30');
    expect(usualLifetime(14)).toBe('14');
    expect(daysText(365)).toBe('one year');
  });

  it('offers administration to administrators only', () => {
    expect(scopesFor('user')).not.toContain('admin');
    expect(scopesFor('admin')).toContain('admin');
  });

  it('keeps the token out of the command line', () => {
    expect(curlExample('https://portal.example')).toContain('curl -H @- https://portal.example/');
    expect(curlExample('https://portal.example')).not.toContain('dsp_');
  });
});
