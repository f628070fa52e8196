/** What a job's last runs say about how much it should ask for. Pure. */
import type { Cluster, Environment, Sizing } from '@/api/types';
import { memoryText } from '@/features/sessions/words';
import type { Draft } from '@/features/start/check';
import { minutesAsTime } from '@/lib/time';
import { checkJob, type JobDraft } from './request';

const SIZED = ['memory_gb', 'cpus', 'time_limit_minutes'] as const;
type Sized = (typeof SIZED)[number];
export type SizedFields = Partial<Pick<Draft, Sized>>;

/** Whose numbers the suggestions are instead of. */
export type Whose = 'template' | 'job' | 'script';

/** The suggestions that this cluster can do where the rest of the draft is asked for. */
export function suggestedFields(
  sizing: Sizing | undefined,
  base: JobDraft,
  cluster: Cluster,
  environment: Pick<Environment, 'title' | 'gpu'> | undefined,
): SizedFields {
  const found: SizedFields = {};
  for (const field of SIZED) {
    const wanted = sizing?.[field]?.suggested ?? null;
    if (wanted === null || wanted === base.node[field]) continue;
    const tried = withFields(base, { ...found, [field]: wanted });
    const problems = checkJob(tried, cluster, environment);
    if (problems[field] === undefined) found[field] = wanted;
  }
  return found;
}

export const withFields = (draft: JobDraft, fields: SizedFields): JobDraft => ({
  ...draft,
  node: { ...draft.node, ...fields },
});

/** The same fields as the draft has them. */
export function fieldsAsIn(draft: JobDraft, fields: SizedFields): SizedFields {
  const names = SIZED.filter((field) => field in fields);
  return Object.fromEntries(names.map((field) => [field, draft.node[field]]));
}

export const isSized = ({ node }: JobDraft, fields: SizedFields): boolean =>
  SIZED.every((field) => !(field in fields) || node[field] === fields[field]);

/** Other GPUs or nodes than those runs had, which may need more. */
export const hasOtherShape = (draft: JobDraft, base: JobDraft): boolean =>
  draft.node.gpus !== base.node.gpus || draft.nodes !== base.nodes;

/** What earlier runs used at most, as a sentence without its full stop. */
interface Said {
  one: (used: string) => string;
  several: (runs: number, used: string) => string;
}

const SAID: Record<Sized, Said> = {
  memory_gb: {
    one: (used) => `Your last run used ${used} of memory`,
    several: (runs, used) => `Your last ${runs} runs used at most ${used} of memory`,
  },
  cpus: {
    one: (used) => `Your last run kept ${used} busy on average`,
    several: (runs, used) => `Your last ${runs} runs kept at most ${used} busy on average`,
  },
  time_limit_minutes: {
    one: (used) => `Your last run took ${used}`,
    several: (runs, used) => `Your last ${runs} runs took at most ${used}`,
  },
};

const USUAL: Record<Whose, (text: string) => string> = {
  template: (text) => `the template’s own number is ${text}`,
  job: (text) => `that job asked for ${text}`,
  script: (text) => `the last one asked for ${text}`,
};

/** "1 CPU", "1.2 CPUs", "less than 0.1 CPUs". */
function cpusText(cpus: number): string {
  if (cpus === 1) return '1 CPU';
  return cpus < 0.1 ? 'less than 0.1 CPUs' : `${Number(cpus.toFixed(1))} CPUs`;
}

const UNITS: Record<Sized, (value: number) => string> = {
  memory_gb: memoryText,
  cpus: cpusText,
  time_limit_minutes: minutesAsTime,
};

function exceededText(field: Sized, used: string): string {
  return field === 'memory_gb'
    ? `One of your last runs was ended because ${used} of memory weren’t enough.`
    : `One of your last runs was ended because ${used} weren’t enough.`;
}

/** The sentences that explain the suggestions, one for each. */
export function hintTexts(sizing: Sizing, fields: SizedFields, whose: Whose): string[] {
  const { runs } = sizing;
  return SIZED.flatMap((field) => {
    const figure = sizing[field];
    if (figure === null || fields[field] == null) return [];
    const text = UNITS[field];
    const used = text(figure.used);
    if (figure.exceeded) return [exceededText(field, used)];
    const said = runs === 1 ? SAID[field].one(used) : SAID[field].several(runs, used);
    return [figure.asked === null ? `${said}.` : `${said}; ${USUAL[whose](text(figure.asked))}.`];
  });
}

/** "4 GB, 2 CPUs, 45 min": for the button that fills them in. */
export function fieldsText(fields: SizedFields): string {
  return SIZED.flatMap((field) => {
    const value = fields[field];
    return value == null ? [] : [UNITS[field](value)];
  }).join(', ');
}
