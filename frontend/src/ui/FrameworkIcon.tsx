import { type SimpleIcon, siKeras, siPython, siPytorch, siR, siTensorflow } from 'simple-icons';
import classes from './FrameworkIcon.module.css';

/** By the first word of a framework's or language's name. Only own logos: no company's, no lookalike. */
const ICONS: ReadonlyMap<string, SimpleIcon> = new Map([
  ['keras', siKeras],
  ['python', siPython],
  ['pytorch', siPytorch],
  ['r', siR],
  ['tensorflow', siTensorflow],
]);
const HUES = 6;

/** Return the hue of a name's tile: the same on every page. */
export function hueOf(name: string): number {
  let sum = 0;
  for (const sign of name) sum = (sum * 31 + (sign.codePointAt(0) ?? 0)) % 9973;
  return sum % HUES;
}

/** Return the first two letters or digits of a name. */
export const initialsOf = (name: string): string =>
  [...name.replace(/[^\p{L}\p{N}]/gu, '')].slice(0, 2).join('');

/** Return the logo for a name, which may have a version: "pytorch 2.13", "python3". */
export const iconOf = (name: string): SimpleIcon | undefined =>
  ICONS.get(/^([a-z]+)\d*(?=$|[\s(])/i.exec(name)?.[1]?.toLowerCase() ?? '');

/** The logo of a framework or language, or a tile with its initials; hidden from screen readers,
 * because the name stands beside it. */
export function FrameworkIcon({ name }: { name: string }) {
  const icon = iconOf(name);
  if (icon === undefined)
    return (
      <span className={classes.tile} data-hue={hueOf(name)} aria-hidden="true">
        {initialsOf(name)}
      </span>
    );
  return (
    <span className={classes.tile} aria-hidden="true">
      <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
        <path d={icon.path} fill={`#${icon.hex}`} />
      </svg>
    </span>
  );
}
