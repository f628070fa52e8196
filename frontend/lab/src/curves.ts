/** Small curves of the session's usage, each with a text alternative. */
import type { UsageSeries } from './facts';
import { messages } from './messages';
import { size } from './usage';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 300;
const HEIGHT = 56;
const MB = 1024 * 1024;
const HEADROOM = 1.1;
const NEAR = 0.9;

type Values = (number | null)[];

/** A curve; `limit` is drawn as a threshold, and `top` is the value at the upper edge. */
export interface Curve {
  name: string;
  values: Values;
  limit: number | null;
  top: number;
  format: (value: number) => string;
}

const known = (values: Values): number[] => values.filter((value) => value !== null);
const megabytes = (value: number): string => size(value * MB);
const percent = (value: number): string => `${Math.round(value)} %`;

function combine(columns: Values[], reduce: (values: number[]) => number): Values {
  const [first = []] = columns;
  return first.map((_, index) => {
    const values = known(columns.map((column) => column[index] ?? null));
    return values.length === 0 ? null : reduce(values);
  });
}

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);

/** Return the curves of a session: its memory, and the mean of its GPUs with their memory. */
export function curvesOf(series: UsageSeries): Curve[] {
  const { memory_mb: memory, memory_limit_mb: limit, gpus } = series;
  const curves = [memoryCurve(messages.memoryName, memory, limit)];
  if (!gpus?.length) return curves;
  const use = combine(
    gpus.map((gpu) => gpu.use_percent),
    (values) => sum(values) / values.length,
  );
  const totals = gpus.map((gpu) => gpu.memory_total_mb);
  const total = totals.includes(null) ? null : sum(known(totals));
  const gpuMemory = combine(
    gpus.map((gpu) => gpu.memory_mb),
    sum,
  );
  return [
    { name: messages.gpuName(gpus.length), values: use, limit: null, top: 100, format: percent },
    memoryCurve(messages.gpuMemoryName, gpuMemory, total),
    ...curves,
  ];
}

function memoryCurve(name: string, values: Values, limit: number | null): Curve {
  const top = Math.max(limit ?? 0, ...known(values), 1) * HEADROOM;
  return { name, values, limit, top, format: megabytes };
}

/** Return whether the last value is close to the limit, as on the portal's pages. */
export function isNearLimit({ values, limit }: Curve): boolean {
  const last = known(values).at(-1);
  return limit !== null && last !== undefined && last >= NEAR * limit;
}

/** Return the SVG path of the values within the last `windowS` seconds; a null is a gap. */
export function pathOf(ages: number[], { values, top }: Curve, windowS: number): string {
  let pen = 'M';
  const parts: string[] = [];
  values.forEach((value, index) => {
    const age = ages[index] ?? windowS;
    if (value === null || age > windowS) {
      pen = 'M';
      return;
    }
    const x = WIDTH * (1 - age / windowS);
    parts.push(`${pen}${x.toFixed(1)} ${yOf(value, top)}`);
    pen = 'L';
  });
  return parts.join('');
}

const yOf = (value: number, top: number): string =>
  (HEIGHT * (1 - Math.min(value, top) / top)).toFixed(1);

/** Return what the curve shows: the present, highest and permitted value. */
export function describe(ages: number[], curve: Curve, windowS: number): string {
  const { name, values, limit, format } = curve;
  const within = known(values.filter((_, index) => (ages[index] ?? windowS) <= windowS));
  const last = within.at(-1);
  if (last === undefined) return messages.curveUnknown(name);
  return messages.curve(
    name,
    windowS / 60,
    format(last),
    format(Math.max(...within)),
    limit === null ? null : format(limit),
  );
}

/** Create the figure of a curve. */
export function drawCurve(ages: number[], curve: Curve, windowS: number): HTMLElement {
  const figure = document.createElement('figure');
  const caption = figure.appendChild(document.createElement('figcaption'));
  const last = known(curve.values).at(-1);
  const value = last === undefined ? messages.unknown : curve.format(last);
  caption.append(
    textElement('span', curve.name),
    textElement(
      'span',
      curve.limit === null || last === undefined
        ? value
        : messages.of(value, curve.format(curve.limit)),
    ),
  );
  const svg = figure.appendChild(document.createElementNS(SVG, 'svg'));
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', describe(ages, curve, windowS));
  svg.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  if (curve.limit !== null) {
    const y = yOf(curve.limit, curve.top);
    svg.append(pathElement(`M0 ${y}L${WIDTH} ${y}`, 'portal-limit'));
  }
  const kind = isNearLimit(curve) ? 'portal-curve portal-near' : 'portal-curve';
  svg.append(pathElement(pathOf(ages, curve, windowS), kind));
  return figure;
}

function pathElement(d: string, name: string): SVGPathElement {
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', d);
  path.setAttribute('class', name);
  return path;
}

export function textElement<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  text: string,
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}
