/** Benchmark results of one GPU of each type, as lines of text. */
import { plural, t } from '@lingui/core/macro';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { GpuTypeFigures } from '@/api/types';
import { locale } from '@/i18n';
import { translateExact } from '@/i18n/translate';

const gpuFiguresQuery = queryOptions({
  queryKey: ['benchmarks', 'gpu-types'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/benchmarks/gpu-types'))).items,
  staleTime: 5 * 60_000,
});

/** The number of results that fit on a card. */
const MAX_FIGURES = 2;

/** Return a result as text, as in "Matrix multiplication, fp16: 91,000 GFLOPS (median of 4 runs)". */
export function gpuFigureText(figure: GpuTypeFigures['figures'][number]): string {
  const { median, runs } = figure;
  const title = translateExact(figure.title);
  const unit = translateExact(figure.unit);
  const precision = figure.labels.precision?.toString();
  const name = precision === undefined ? title : t`${title}, ${precision}`;
  const value = Number(median.toPrecision(3)).toLocaleString(locale());
  return runs > 1
    ? t`${name}: ${value} ${unit} (median of ${plural(runs, { one: '# run', other: '# runs' })})`
    : t`${name}: ${value} ${unit}`;
}

/** Return the lines by GPU type; empty without results. */
export function useGpuFigures(): ReadonlyMap<string, string[]> {
  const { data } = useQuery(gpuFiguresQuery);
  return new Map(
    data?.map(({ gpu_type, figures }) => [
      gpu_type,
      figures.slice(0, MAX_FIGURES).map(gpuFigureText),
    ]),
  );
}
