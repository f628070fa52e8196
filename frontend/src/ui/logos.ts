/** Logos of frameworks, languages and apps, and what takes their place; also used by the JupyterLab
 * extension (frontend/lab). Pure. */
import {
  type SimpleIcon,
  siGradio,
  siKeras,
  siMlflow,
  siPython,
  siPytorch,
  siR,
  siStreamlit,
  siTensorflow,
} from 'simple-icons';

/** By the first word of a name. Only own logos: no company's, no lookalike. */
const LOGOS: ReadonlyMap<string, SimpleIcon> = new Map([
  ['gradio', siGradio],
  ['keras', siKeras],
  ['mlflow', siMlflow],
  ['python', siPython],
  ['pytorch', siPytorch],
  ['r', siR],
  ['streamlit', siStreamlit],
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
export const logoOf = (name: string): SimpleIcon | undefined =>
  LOGOS.get(/^([a-z]+)\d*(?=$|[\s(])/i.exec(name)?.[1]?.toLowerCase() ?? '');
