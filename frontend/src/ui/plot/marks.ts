/** How the lines and bars of a picture are told apart: by colour, and after those by dashes. A mark
 * is a number from 0. Without uPlot, for tables and bars too. */
const COLOURS = ['--busy', '--waiting', '--good', '--bad'];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
/** As the first dashes, for what CSS draws; it has no name for the last. */
const STYLES = ['solid', 'dashed', 'dotted'] as const;
const STRIPES = ['', '7px, transparent 7px 10px', '3px, transparent 3px 6px'];

/** With more marks than this, some would look the same. */
export const MOST_MARKS = COLOURS.length * STYLES.length;

/** The `nth` of a list that begins anew when it is over. */
function around<T>(list: readonly T[], nth: number, otherwise: T): T {
  return list[nth % list.length] ?? otherwise;
}

const turn = (mark: number): number => Math.floor(mark / COLOURS.length);

/** The name of the CSS variable that has its colour. */
export const markColour = (mark: number): string => around(COLOURS, mark, '--busy');

/** Its dashes as a canvas wants them: lengths in pixels of what is drawn and what is left out. */
export const markDash = (mark: number): number[] => around(DASHES, turn(mark), []);

interface Stroke {
  borderTopStyle: (typeof STYLES)[number];
  borderTopColor: string;
}

export const markBorder = (mark: number): Stroke => ({
  borderTopStyle: around(STYLES, turn(mark), 'solid'),
  borderTopColor: `var(${markColour(mark)})`,
});

/** As the line's dashes, for a bar. */
export function markFill(mark: number): string {
  const colour = `var(${markColour(mark)})`;
  const stripes = around(STRIPES, turn(mark), '');
  return stripes ? `repeating-linear-gradient(90deg, ${colour} 0 ${stripes})` : colour;
}
