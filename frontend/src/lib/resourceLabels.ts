/** Labels of resources. Pure. */
import { plural, t } from '@lingui/core/macro';
import type { ResourceRequest } from '@/api/types';
import { memoryText } from './sizes';
import { minutesAsTime } from './time';

export const gpuCountText = (gpus: number): string =>
  plural(gpus, { one: '# GPU', other: '# GPUs' });

export const cpuCountText = (cpus: number): string =>
  plural(cpus, { one: '# CPU', other: '# CPUs' });

export const nodeCountText = (nodes: number): string =>
  plural(nodes, { one: '# node', other: '# nodes' });

/** Format GPUs with their type, if one is requested: "2 v100 GPUs", "1 GPU", "no GPU". */
export function gpuRequestText(resources: Pick<ResourceRequest, 'gpus' | 'gpu_type'>): string {
  const { gpus, gpu_type: type } = resources;
  if (!gpus) return t`no GPU`;
  return type
    ? plural(gpus, { one: `# ${type} GPU`, other: `# ${type} GPUs` })
    : gpuCountText(gpus);
}

/** Format requested resources, the most important first: "1 v100 GPU", "2 CPUs", "4 GB", "4 h". */
export function resourceTexts(resources: ResourceRequest): string[] {
  const nodes = resources.nodes ?? 1;
  const each = (amount: string): string => (nodes > 1 ? t`${amount} each` : amount);
  const texts = nodes > 1 ? [nodeCountText(nodes)] : [];
  texts.push(
    resources.gpus ? each(gpuRequestText(resources)) : gpuRequestText(resources),
    each(cpuCountText(resources.cpus ?? 1)),
  );
  if (resources.memory_gb) texts.push(each(memoryText(resources.memory_gb)));
  if (resources.time_limit_minutes) texts.push(minutesAsTime(resources.time_limit_minutes));
  return texts;
}
