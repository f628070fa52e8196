/** Every text that this extension shows, in one place. */
import { durationIn, type SpanWords } from '@/lib/spans';

export const spans: SpanWords = {
  seconds: (seconds) => `${seconds} s`,
  minutes: (minutes) => `${minutes} min`,
  hours: (count) => `${count} h`,
  hoursMinutes: (count, minutes) => `${count} h ${minutes} min`,
  days: (days) => `${days} d`,
  daysHours: (days, count) => `${days} d ${count} h`,
  minutesSeconds: (minutes, seconds) => `${minutes}:${seconds} min`,
  over: () => 'time is up',
};

const hours = (minutes: number): string =>
  minutes % 60 === 0
    ? `${minutes / 60} ${minutes === 60 ? 'Hour' : 'Hours'}`
    : `${minutes} Minutes`;

export const words = {
  menu: 'Session',
  palette: 'Session',
  timeUnknown: 'Session',
  left: (time: string) => `${time} left`,
  timeUp: 'Time is up',
  noLimit: 'No time limit',
  endsAt: (time: string) => `This session ends at ${time}.`,
  openMenu: 'Open the session menu.',
  use: 'What this session uses',
  memory: (used: string, limit: string | null) =>
    limit === null ? `Memory ${used}` : `Memory ${used} of ${limit}`,
  memoryUnknown: 'This node does not tell how much memory the session uses.',
  gpu: (count: number, percent: number | null, memory: string | null) =>
    [
      count === 1 ? 'GPU' : `${count} GPUs`,
      percent === null ? null : `${percent} %`,
      memory === null ? null : `${memory}`,
    ]
      .filter((part) => part !== null)
      .join(' '),
  of: (used: string, limit: string) => `${used} of ${limit}`,
  gpuSilent: (count: number) => `${count === 1 ? 'GPU' : `${count} GPUs`}: use not known`,
  gpuUnknown: (count: number) =>
    `${count === 1 ? '1 GPU' : `${count} GPUs`}. This node does not tell how much they are used.`,
  noGpu: 'This session has no GPU.',
  gpuLine: (name: string, percent: string, memory: string) => `${name}: ${percent}, ${memory}`,
  unknown: 'not known',
  warning: (time: string) =>
    `This session ends in ${time}. Save your work: kernels and terminals end with it.`,
  cantExtend: (why: string) => `Can't Be Extended: ${why}`,
  extend: (minutes: number) => `Extend by ${hours(minutes)}`,
  extended: (time: string) => `This session now ends at ${time}.`,
  extending: 'Extend Session',
  tensorboard: 'Open TensorBoard',
  runNotebook: 'Run This Notebook as a Job',
  noNotebook: 'Open a notebook first.',
  notInHome: 'Only a notebook in your home can be run as a job.',
  notSaved: 'The notebook could not be saved, so it was not handed over.',
  back: 'Back to the Portal',
  noAnswer: 'The session could not be asked. Check your connection.',
  minutesLeft: (ms: number) => durationIn(spans, Math.max(ms, 60_000)),
} as const;
