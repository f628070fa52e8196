/** What one GPU of each type does in this cluster's benchmarks, in a line each. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { GpuTypeFigures } from '@/api/types';
import { plural } from '@/features/sessions/words';

const gpuFiguresQuery = queryOptions({
  queryKey: ['benchmarks', 'gpu-types'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/benchmarks/gpu-types'))).items,
  staleTime: 5 * 60_000,
});

/** So many fit on a card. */
const MOST = 2;

/** "Matrix multiplication, fp16: 91,000 GFLOPS (median of 4 runs)". Pure. */
export function figureText(figure: GpuTypeFigures['figures'][number]): string {
  const { title, labels, median, unit, runs } = figure;
  const precision = labels.precision === undefined ? '' : `, ${labels.precision}`;
  const value = Number(median.toPrecision(3)).toLocaleString('en');
  const middle = runs > 1 ? ` (median of ${plural(runs, 'run')})` : '';
  return `${title}${precision}: ${value} ${unit}${middle}`;
}

/** By type; empty where nobody has measured. */
export function useGpuFigures(): ReadonlyMap<string, string[]> {
  const { data } = useQuery(gpuFiguresQuery);
  return new Map(
    data?.map(({ gpu_type, figures }) => [gpu_type, figures.slice(0, MOST).map(figureText)]),
  );
}
