/** Every text that this extension shows, in English. */
import type { DurationLabels } from '@/lib/durations';

const spans: DurationLabels = {
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

const gpus = (count: number): string => `${count} ${count === 1 ? 'GPU' : 'GPUs'}`;
const cpus = (count: number): string => `${count} ${count === 1 ? 'CPU' : 'CPUs'}`;

export type Messages = typeof english;

export const english = {
  /** undefined: the browser's locale */
  locale: undefined as string | undefined,
  spans,
  menu: 'Session',
  palette: 'Session',
  left: (time: string) => `${time} left`,
  timeUp: 'Time is up',
  noLimit: 'No time limit',
  endsAt: (time: string) => `This session ends at ${time}.`,
  openMenu: 'Open the session menu.',
  use: 'What this session uses',
  memory: (used: string, limit: string | null) =>
    limit === null ? `Memory ${used}` : `Memory ${used} of ${limit}`,
  memoryUnknown: 'This node does not report how much memory the session uses.',
  gpu: (count: number, percent: number | null, memory: string | null) =>
    [
      count === 1 ? 'GPU' : `${count} GPUs`,
      percent === null ? null : `${percent} %`,
      memory === null ? null : `${memory}`,
    ]
      .filter((part) => part !== null)
      .join(' '),
  of: (used: string, limit: string) => `${used} of ${limit}`,
  gpuSilent: (count: number) => `${count === 1 ? 'GPU' : `${count} GPUs`}: n/a`,
  gpuUnknown: (count: number) =>
    `${gpus(count)}. This node does not report how much they are used.`,
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
  tensorboardOf: (folder: string) => `TensorBoard of this session: ${folder}`,
  runNotebook: 'Run This Notebook as a Job',
  notInHome: 'Only a notebook in your home can be run as a job.',
  notSaved: 'The notebook could not be saved, so no job was submitted.',
  back: 'Back to the Portal',
  idle: (time: string, gpuCount: number, cpuCount: number) =>
    `Nothing has run here for ${time}. The session holds ${
      gpuCount > 0 ? `${gpus(gpuCount)} and ` : ''
    }${cpus(cpuCount)} that others could use.`,
  stop: 'Stop Session…',
  keep: 'Keep Running',
  endedTitle: "This session isn't running",
  ended: 'It has ended. You can start it again.',
  startAgain: 'Start It Again…',
  silentTitle: "The session doesn't answer",
  silent:
    'Check your connection. Unsaved changes stay on this page, and you can go on once the session answers.',
  dismiss: 'Dismiss',
  panel: 'Jobs and Usage',
  tensorboardTab: 'TensorBoard in JupyterLab',
  usageTitle: 'Usage',
  usagePeriod: 'Period of the curves',
  lastMinutes: (minutes: number) => `Last ${minutes} min`,
  noCurve: 'No measurements yet.',
  memoryName: 'Memory',
  gpuName: (count: number) => (count === 1 ? 'GPU' : `${count} GPUs, mean`),
  gpuMemoryName: 'GPU memory',
  curve: (name: string, minutes: number, now: string, highest: string, limit: string | null) =>
    `${name} in the last ${minutes} min: now ${now}, highest ${highest}${
      limit === null ? '' : `, limit ${limit}`
    }`,
  curveUnknown: (name: string) => `${name}: not known`,
  jobsTitle: 'Your jobs',
  noJobs: 'You have no jobs.',
  jobsAbsent:
    'This session was started by an earlier version of the portal. Start a new session to see your jobs here.',
  jobStates: {
    submitting: 'Submitting',
    queued: 'Queued',
    starting: 'Starting',
    running: 'Running',
    suspended: 'Suspended',
    stopping: 'Ending',
    ended: 'Ended',
    completed: 'Completed',
    failed: 'Failed',
    cancelled: 'Cancelled',
    timeout: 'Timed out',
    out_of_memory: 'Out of memory',
    node_failed: 'Node failed',
  } as Record<string, string>,
  ago: (time: string) => `${time} ago`,
  lasting: (time: string) => `for ${time}`,
  log: 'Log',
  logOf: (name: string) => `Log of ${name}`,
  notebook: 'Notebook',
  notebookOf: (name: string) => `Executed notebook of ${name}`,
  portal: 'Portal',
  portalOf: (name: string) => `Open ${name} in the portal`,
  cancel: 'Cancel…',
  cancelOf: (name: string) => `Cancel ${name}…`,
  loading: 'Loading…',
  emptyLog: 'The log is empty.',
  cancelQuestion: (name: string) => `Cancel ${name}?`,
  cancelMeaning: 'It ends now. What it has written to files stays, with its log.',
  cancelJob: 'Cancel Job',
  keepRunning: 'Keep It Running',
  jobEnded: (name: string, state: string) => `${name}: ${state}`,
  jobsEnded: (count: number) => `${count} jobs ended`,
  showJobs: 'Show Jobs',
  openLog: 'Open Log',
  openNotebook: 'Open Notebook',
  openInPortal: 'Open in Portal',
  notebookElsewhere: "JupyterLab can't open the executed notebook. Look for it in the portal.",
  apps: 'Apps',
  openAs: (app: string) => `Open in ${app}`,
  appFile: (app: string) => `Open ${app}`,
  appFileLabel: (extensions: string) =>
    extensions === '' ? 'File in your home' : `File in your home (${extensions})`,
  open: 'Open',
  appStarting: (app: string) => `${app} is starting…`,
  appReady: (app: string) => `${app} is ready.`,
  appFailed: (app: string, why: string) => `${app}: ${why}`,
  appStopped: 'It was stopped before it was ready.',
  appAgain: 'Start Again',
  appDetails: 'Show Output',
  appReplace: (app: string) => `Stop ${app}?`,
  appReplaceMeaning: (file: string) =>
    `It runs with ${file}. Opening another file stops it, and what isn't saved in it is lost.`,
  appStop: 'Stop and Open',
  noAnswer: "The session didn't respond. Check your connection.",
};
