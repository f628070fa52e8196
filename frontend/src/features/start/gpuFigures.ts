/** What one GPU of each type does in this cluster's benchmarks, in a line each. */
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

/** So many fit on a card. */
const MOST = 2;

/** "Matrix multiplication, fp16: 91,000 GFLOPS (median of 4 runs)". Pure. */
export function figureText(figure: GpuTypeFigures['figures'][number]): string {
  const { median, runs } = figure;
  const title = translateExact(figure.title);
  const unit = translateExact(figure.unit);
  const precision = figure.labels.precision?.toString();
  const what = precision === undefined ? title : t`${title}, ${precision}`;
  const value = Number(median.toPrecision(3)).toLocaleString(locale());
  return runs > 1
    ? t`${what}: ${value} ${unit} (median of ${plural(runs, { one: '# run', other: '# runs' })})`
    : t`${what}: ${value} ${unit}`;
}

/** By type; empty without measurements. */
export function useGpuFigures(): ReadonlyMap<string, string[]> {
  const { data } = useQuery(gpuFiguresQuery);
  return new Map(
    data?.map(({ gpu_type, figures }) => [gpu_type, figures.slice(0, MOST).map(figureText)]),
  );
}
