import { describe, expect, it } from 'vitest';
import { strokeNear } from './threshold';

const TOP = 10;
const HEIGHT = 100;

/** A plot whose axis ends at this value, and that records the stops of its gradient. */
function plotUpTo(most: number) {
  const stops: [at: number, color: string][] = [];
  const gradient = { addColorStop: (at: number, color: string) => stops.push([at, color]) };
  const plot = {
    bbox: { left: 0, top: TOP, width: 1, height: HEIGHT },
    valToPos: (value: number) => TOP + HEIGHT * (1 - value / most),
    ctx: { createLinearGradient: () => gradient },
  };
  return { plot: plot as unknown as Parameters<typeof strokeNear>[0], stops };
}

const LIMIT = { value: 16, label: 'limit' };

describe('a line near a threshold', () => {
  it('is red from 90 % of it', () => {
    const { plot, stops } = plotUpTo(16);
    strokeNear(plot, 'teal', 'red', LIMIT);
    expect(stops.map(([at, color]) => [Number(at.toFixed(6)), color])).toEqual([
      [0, 'red'],
      [0.1, 'red'],
      [0.1, 'teal'],
      [1, 'teal'],
    ]);
  });

  it('has its own color where the axis ends below', () => {
    const { plot, stops } = plotUpTo(14);
    expect(strokeNear(plot, 'teal', 'red', LIMIT)).toBe('teal');
    expect(stops).toEqual([]);
  });
});
