/**
 * How the lines and bars of a chart are distinguished: by color, then by dashes. A mark is a number
 * from 0. Without uPlot, for tables and bars too.
 */
const COLORS = ['--busy', '--waiting', '--good', '--bad'];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
/** As the first dashes, for what CSS draws; it has no name for the last. */
const STYLES = ['solid', 'dashed', 'dotted'] as const;
const STRIPES = ['', '7px, transparent 7px 10px', '3px, transparent 3px 6px'];

/** With more marks than this, some would look the same. */
export const MOST_MARKS = COLORS.length * STYLES.length;

/** The `nth` element of a list that wraps around. */
function around<T>(list: readonly T[], nth: number, otherwise: T): T {
  return list[nth % list.length] ?? otherwise;
}

const turn = (mark: number): number => Math.floor(mark / COLORS.length);

/** The name of the CSS variable that has its colour. */
export const markColor = (mark: number): string => around(COLORS, mark, '--busy');

/** Its dashes as a canvas wants them: lengths in pixels of dashes and gaps. */
export const markDash = (mark: number): number[] => around(DASHES, turn(mark), []);

interface Stroke {
  borderTopStyle: (typeof STYLES)[number];
  borderTopColor: string;
}

export const markBorder = (mark: number): Stroke => ({
  borderTopStyle: around(STYLES, turn(mark), 'solid'),
  borderTopColor: `var(${markColor(mark)})`,
});

/** As the line's dashes, for a bar. */
export function markFill(mark: number): string {
  const color = `var(${markColor(mark)})`;
  const stripes = around(STRIPES, turn(mark), '');
  return stripes ? `repeating-linear-gradient(90deg, ${color} 0 ${stripes})` : color;
}
