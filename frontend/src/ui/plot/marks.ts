/**
 * Distinguishes a chart's lines and bars: by color, then by dash pattern. A mark is the index
 * of such a combination. Independent of uPlot, for tables and bars too.
 */
const COLORS = ['--busy', '--waiting', '--good', '--bad'];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
/** CSS counterparts of the first dashes; it has none for the last. */
const STYLES = ['solid', 'dashed', 'dotted'] as const;
/** Stripes of bars: their length and period in pixels; the first bars have none. */
const STRIPES = [undefined, { length: 7, period: 10 }, { length: 3, period: 6 }] as const;

/** With more marks than this, some would look the same. */
export const MAX_MARKS = COLORS.length * STYLES.length;

/** Return the `nth` element of a list that wraps around. */
function around<T>(list: readonly T[], nth: number, otherwise: T): T {
  return list[nth % list.length] ?? otherwise;
}

/** Return how often the colors have repeated before this mark. */
const cycle = (mark: number): number => Math.floor(mark / COLORS.length);

/** Return the name of the CSS variable with the mark's color. */
export const markColor = (mark: number): string => around(COLORS, mark, '--busy');

/** Return the mark's dashes for a canvas: lengths of dashes and gaps in pixels. */
export const markDash = (mark: number): number[] => around(DASHES, cycle(mark), []);

interface Stroke {
  borderTopStyle: (typeof STYLES)[number];
  borderTopColor: string;
}

export const markBorder = (mark: number): Stroke => ({
  borderTopStyle: around(STYLES, cycle(mark), 'solid'),
  borderTopColor: `var(${markColor(mark)})`,
});

/** Return the stripes of the mark's bars; undefined if they are solid. */
export const markStripes = (mark: number): { length: number; period: number } | undefined =>
  around(STRIPES, cycle(mark), undefined);

/** Return a bar's background with the dashes of the mark's line. */
export function markFill(mark: number): string {
  const color = `var(${markColor(mark)})`;
  const stripes = markStripes(mark);
  if (stripes === undefined) return color;
  const { length, period } = stripes;
  return `repeating-linear-gradient(90deg, ${color} 0 ${length}px, transparent ${length}px ${period}px)`;
}
