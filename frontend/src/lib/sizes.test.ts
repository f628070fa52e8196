import { describe, expect, it } from 'vitest';
import { memoryText, sizeText } from './sizes';

const KB = 1024;

describe('sizes', () => {
  it('have units of 1024 and one decimal below 100', () => {
    expect([0, 1, 812].map(sizeText)).toEqual(['0 bytes', '1 byte', '812 bytes']);
    expect([KB, 1536, 99.94 * KB, 120.4 * KB].map(sizeText)).toEqual([
      '1 KB',
      '1.5 KB',
      '99.9 KB',
      '120 KB',
    ]);
    expect(
      [KB ** 2 - 1, 23 * KB ** 3, 4 * KB ** 4, 5 * KB ** 5, 5000 * KB ** 5].map(sizeText),
    ).toEqual(['1 MB', '23 GB', '4 TB', '5 PB', '5000 PB']);
  });

  it('of memory are in MB or GB', () => {
    expect([0, 0.3, 0.5, 1, 1.54, 252.3, 1100].map(memoryText)).toEqual([
      '0 MB',
      '307 MB',
      '512 MB',
      '1 GB',
      '1.5 GB',
      '252 GB',
      '1100 GB',
    ]);
  });
});
