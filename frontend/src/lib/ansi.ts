/**
 * Parses a line of a program's output with its colors to pieces of text with names of styles. Only
 * SGR sequences are used (ECMA-48, 8.3.117); other escapes and control characters are dropped, and
 * nothing becomes markup. Pure.
 *
 * A page is light or dark while programs assume black terminals: every color becomes one of a few
 * names, for which the page has readable tones; black and white become the page's text color.
 */
import { ESCAPES, lastOverwrite } from './terminal';

export type Color = 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'grey';
export type TextAttribute = 'bold' | 'dim' | 'italic' | 'underline' | 'strike';

/** The active styles; shared and never mutated, so that pieces can be compared by identity. */
export interface Style {
  readonly front: Color | null;
  readonly back: Color | null;
  readonly inverse: boolean;
  readonly attributes: readonly TextAttribute[];
}

export interface Piece {
  text: string;
  style: Style;
}

export const PLAIN: Style = { front: null, back: null, inverse: false, attributes: [] };

const SIXTEEN: readonly (Color | null)[] = [
  null, // black
  'red',
  'green',
  'yellow',
  'blue',
  'magenta',
  'cyan',
  null, // white
];
const BRIGHT_BLACK = 8;

const ATTRIBUTES: Readonly<Record<number, TextAttribute>> = {
  1: 'bold',
  2: 'dim',
  3: 'italic',
  4: 'underline',
  9: 'strike',
};
const ENDS: Readonly<Record<number, readonly TextAttribute[]>> = {
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underline'],
  29: ['strike'],
};

/** Above this saturation a color is mapped by its hue in degrees. */
const COLORED = 0.25;
const HUES: readonly [upto: number, color: Color][] = [
  [20, 'red'],
  [70, 'yellow'],
  [160, 'green'],
  [200, 'cyan'],
  [262, 'blue'],
  [335, 'magenta'],
  [360, 'red'],
];

/** Return the name closest to red, green and blue, each 0 to 255. */
function nearest(red: number, green: number, blue: number): Color | null {
  const most = Math.max(red, green, blue);
  const spread = most - Math.min(red, green, blue);
  if (most === 0 || spread / most < COLORED) return most > 70 && most < 190 ? 'grey' : null;
  const sixth =
    most === red
      ? ((green - blue) / spread + 6) % 6
      : most === green
        ? (blue - red) / spread + 2
        : (red - green) / spread + 4;
  return HUES.find(([upto]) => sixth * 60 <= upto)?.[1] ?? 'red';
}

/** Map one of xterm's 256 colors: 16 named ones, a cube of 6 × 6 × 6, and 24 grays. */
function paletteColor(index: number): Color | null {
  if (index === BRIGHT_BLACK) return 'grey';
  if (index < 16) return SIXTEEN[index % 8] ?? null;
  if (index >= 232) {
    const level = 8 + (index - 232) * 10;
    return nearest(level, level, level);
  }
  const level = (n: number): number => (n === 0 ? 0 : 55 + 40 * n);
  const position = index - 16;
  return nearest(
    level(Math.floor(position / 36)),
    level(Math.floor(position / 6) % 6),
    level(position % 6),
  );
}

/** Parse a color of 38 or 48, `5;n` or `2;r;g;b`, with the number of parameters it takes. */
function extendedColor(rest: readonly number[]): [color: Color | null, taken: number] {
  const [kind, a = 0, b = 0, c = 0] = rest;
  if (kind === 5) return [paletteColor(a), 2];
  if (kind === 2) return [nearest(a, b, c), 4];
  return [null, Number.POSITIVE_INFINITY];
}

function withCode(style: Style, code: number): Style {
  const attribute = ATTRIBUTES[code];
  if (attribute !== undefined)
    return style.attributes.includes(attribute)
      ? style
      : { ...style, attributes: [...style.attributes, attribute] };
  const ended = ENDS[code];
  if (ended !== undefined)
    return {
      ...style,
      attributes: style.attributes.filter((attribute) => !ended.includes(attribute)),
    };
  if (code === 0) return PLAIN;
  if (code === 7 || code === 27) return { ...style, inverse: code === 7 };
  if (code === 39) return { ...style, front: null };
  if (code === 49) return { ...style, back: null };
  if (code >= 30 && code <= 37) return { ...style, front: paletteColor(code - 30) };
  if (code >= 40 && code <= 47) return { ...style, back: paletteColor(code - 40) };
  if (code >= 90 && code <= 97) return { ...style, front: paletteColor(code - 82) };
  if (code >= 100 && code <= 107) return { ...style, back: paletteColor(code - 92) };
  return style;
}

/** Return the style after an escape sequence; only SGR changes it. */
function afterEscape(style: Style, sequence: string): Style {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are control characters
  const inner = /^\u001b\[([\d;:]*)m$/.exec(sequence)?.[1];
  if (inner === undefined) return style;
  const codes = inner.split(/[;:]/).map(Number);
  let now = style;
  for (let position = 0; position < codes.length; position++) {
    const code = codes[position] ?? 0;
    if (code === 38 || code === 48) {
      const [color, taken] = extendedColor(codes.slice(position + 1, position + 5));
      now = { ...now, [code === 38 ? 'front' : 'back']: color };
      position += taken;
    } else now = withCode(now, code);
  }
  return now;
}

// Control characters except tab; line endings and carriage returns were already handled.
// biome-ignore lint/suspicious/noControlCharactersInRegex: it matches control characters
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** Return a line's pieces as a terminal would show it, starting with a style, and the style at its
 * end. Text overwritten after a carriage return is dropped. */
export function paintLine(line: string, from: Style): { pieces: Piece[]; style: Style } {
  const [begin, end] = lastOverwrite(line);
  let style = from;
  for (const [sequence] of line.slice(0, begin).matchAll(ESCAPES))
    style = afterEscape(style, sequence);
  const visible = line.slice(begin, end);
  const pieces: Piece[] = [];
  const add = (text: string): void => {
    const clean = text.replace(CONTROL, '');
    const last = pieces.at(-1);
    if (clean === '') return;
    if (last?.style === style) last.text += clean;
    else pieces.push({ text: clean, style });
  };
  let position = 0;
  for (const match of visible.matchAll(ESCAPES)) {
    add(visible.slice(position, match.index));
    style = afterEscape(style, match[0]);
    position = match.index + match[0].length;
  }
  add(visible.slice(position));
  return { pieces, style };
}
