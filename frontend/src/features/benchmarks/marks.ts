/** How columns are told apart in a picture: by colour, and after those by dashes. */
export const COLOURS = ['--busy', '--waiting', '--bad', '--good'];
export const DASHES = [[], [8, 4], [2, 3]];
export const MOST_SHOWN = COLOURS.length * DASHES.length;
const STYLES = ['solid', 'dashed', 'dotted'] as const;

interface Stroke {
  borderTopStyle: (typeof STYLES)[number];
  borderTopColor: string;
}

export const lineStyle = (mark: number): Stroke => ({
  borderTopStyle: STYLES[Math.floor(mark / COLOURS.length) % STYLES.length] ?? 'solid',
  borderTopColor: `var(${COLOURS[mark % COLOURS.length]})`,
});

const STRIPES = ['', '7px, transparent 7px 10px', '3px, transparent 3px 6px'];

/** As the line's dashes, for a bar. */
export function barFill(mark: number): string {
  const colour = `var(${COLOURS[mark % COLOURS.length]})`;
  const stripes = STRIPES[Math.floor(mark / COLOURS.length) % STRIPES.length];
  return stripes ? `repeating-linear-gradient(90deg, ${colour} 0 ${stripes})` : colour;
}
