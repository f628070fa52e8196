/** The session's usage, in brief and in detail. Pure. */
import type { CurrentUsage, Facts, Gpu } from './facts';
import { messages } from './messages';

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/** Format bytes in binary units, like Slurm: "512 MB", "1.4 GB", "80 GB". */
export function size(bytes: number): string {
  let value = Math.max(0, bytes);
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 10 || unit < 3 ? Math.round(value) : Math.round(value * 10) / 10} ${UNITS[unit]}`;
}

const knownValues = (values: (number | null)[]): number[] =>
  values.filter((value) => value !== null);

const total = (values: (number | null)[]): number | null =>
  values.length > 0 && knownValues(values).length === values.length
    ? knownValues(values).reduce((sum, value) => sum + value, 0)
    : null;

function memoryOf(gpus: Gpu[]): string | null {
  const used = total(gpus.map((gpu) => gpu.memory_used_bytes));
  const totalBytes = total(gpus.map((gpu) => gpu.memory_bytes));
  return used === null || totalBytes === null ? null : messages.of(size(used), size(totalBytes));
}

function gpuText(gpus: Gpu[]): string {
  const percents = knownValues(gpus.map((gpu) => gpu.use_percent));
  const mean = percents.length > 0 ? percents.reduce((a, b) => a + b, 0) / percents.length : null;
  const memory = memoryOf(gpus);
  if (mean === null && memory === null) return messages.gpuSilent(gpus.length);
  return messages.gpu(gpus.length, mean === null ? null : Math.round(mean), memory);
}

function gpuLine(gpu: Gpu): string {
  const percent = gpu.use_percent === null ? messages.unknown : `${gpu.use_percent} %`;
  return messages.gpuLine(gpu.name, percent, memoryOf([gpu]) ?? messages.unknown);
}

/** The share of the memory from which on a kernel may soon be killed. */
const SCARCE = 0.9;

/** Return whether little is left of the session's memory. */
export function isMemoryScarce({ memory }: CurrentUsage): boolean {
  if (!memory || memory.limit_bytes === null) return false;
  return memory.used_bytes >= SCARCE * memory.limit_bytes;
}

/** Format for the status bar: "node01 · Memory 1.2 GB of 6 GB · GPU 34 % 3.1 GB of 80 GB". */
export function brief(facts: Facts | null, use: CurrentUsage): string {
  const requested = facts?.session.resources.gpus ?? 0;
  const memory =
    use.memory &&
    messages.memory(
      size(use.memory.used_bytes),
      use.memory.limit_bytes === null ? null : size(use.memory.limit_bytes),
    );
  const gpus = use.gpus?.length
    ? gpuText(use.gpus)
    : requested > 0 && messages.gpuSilent(requested);
  return [facts?.session.node, memory, gpus].filter(Boolean).join(' · ');
}

/** Format for the tooltip: one line per resource, also for those that are absent. */
export function details(facts: Facts | null, use: CurrentUsage): string {
  const requested = facts?.session.resources.gpus ?? 0;
  const gpus = use.gpus?.length
    ? use.gpus.map(gpuLine)
    : [requested > 0 ? messages.gpuUnknown(requested) : messages.noGpu];
  const memory = use.memory ? [] : [messages.memoryUnknown];
  return [messages.use, ...memory, ...gpus].join('\n');
}
