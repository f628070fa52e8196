/** Labels of resources. Pure. */
import { plural, t } from '@lingui/core/macro';
import type { ResourceRequest } from '@/api/types';
import { memoryText } from './sizes';
import { minutesAsTime } from './time';

export const gpusText = (gpus: number): string => plural(gpus, { one: '# GPU', other: '# GPUs' });

export const cpusText = (cpus: number): string => plural(cpus, { one: '# CPU', other: '# CPUs' });

export const nodesText = (nodes: number): string =>
  plural(nodes, { one: '# node', other: '# nodes' });

export function gpuText(resources: Pick<ResourceRequest, 'gpus' | 'gpu_type'>): string {
  const { gpus, gpu_type: type } = resources;
  if (!gpus) return t`no GPU`;
  return type ? plural(gpus, { one: `# ${type} GPU`, other: `# ${type} GPUs` }) : gpusText(gpus);
}

/** Format requested resources, the most important first: "1 v100 GPU", "2 CPUs", "4 GB", "4 h". */
export function resourceTexts(resources: ResourceRequest): string[] {
  const nodes = resources.nodes ?? 1;
  const each = (amount: string): string => (nodes > 1 ? t`${amount} each` : amount);
  const texts = nodes > 1 ? [nodesText(nodes)] : [];
  texts.push(
    resources.gpus ? each(gpuText(resources)) : gpuText(resources),
    each(cpusText(resources.cpus ?? 1)),
  );
  if (resources.memory_gb) texts.push(each(memoryText(resources.memory_gb)));
  if (resources.time_limit_minutes) texts.push(minutesAsTime(resources.time_limit_minutes));
  return texts;
}
