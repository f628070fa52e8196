import { pointRows, type TimeRange, type TimeSeries } from './series';
import type { PlotUnit } from './units';

interface Props {
  /** the heading of the first column */
  heading: string;
  at: readonly number[];
  atText: (at: number) => string;
  series: readonly TimeSeries[];
  unit: PlotUnit;
  range?: TimeRange | undefined;
}

/** The numbers of a chart of lines. */
export function ChartTable({ heading, at, atText, series, unit, range }: Props) {
  const rows = pointRows(at, series, unit, range).map(([time, texts]) => ({
    key: time,
    name: atText(time),
    texts,
  }));
  return <SeriesTable heading={heading} labels={series.map(({ label }) => label)} rows={rows} />;
}

interface SeriesTableProps {
  /** the heading of the first column */
  heading: string;
  /** the headings of the others */
  labels: readonly string[];
  rows: readonly { key: string | number; name: string; texts: readonly string[] }[];
}

/** A table with a column for each series. */
export function SeriesTable({ heading, labels, rows }: SeriesTableProps) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{heading}</th>
          {labels.map((label) => (
            <th scope="col" key={label}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, name, texts }) => (
          <tr key={key}>
            <th scope="row">{name}</th>
            {texts.map((text, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a column has no other name
              <td key={index}>{text}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
