/** What a job's last runs say about how much it should ask for. Pure. */
import type { Cluster, Environment, Sizing } from '@/api/types';
import { memoryText } from '@/features/sessions/words';
import type { Draft } from '@/features/start/check';
import { minutesAsTime } from '@/lib/time';
import { checkJob, type JobDraft } from './request';

const SIZED = ['cpus', 'memory_gb', 'time_limit_minutes'] as const;
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

const runsText = (runs: number): string =>
  runs === 1 ? 'Your last run' : `Your last ${runs} runs`;

const USUAL: Record<Whose, (text: string) => string> = {
  template: (text) => `the template’s own number is ${text}`,
  job: (text) => `that job asked for ${text}`,
  script: (text) => `the last one asked for ${text}`,
};

const cpusText = (cpus: number): string =>
  cpus === 1 ? '1 CPU' : `${Number(cpus.toFixed(1))} CPUs`;

/** The sentences that explain the suggestions, one for each. */
export function hintTexts(sizing: Sizing, fields: SizedFields, whose: Whose): string[] {
  const { runs, memory_gb: memory, cpus, time_limit_minutes: time } = sizing;
  const usual = (asked: number | null, words: (value: number) => string): string =>
    asked === null ? '.' : `; ${USUAL[whose](words(asked))}.`;
  const texts: string[] = [];
  if (fields.memory_gb != null && memory)
    texts.push(
      memory.exceeded
        ? `One of your last runs was ended because ${memoryText(memory.used)} of memory weren’t enough.`
        : `${runsText(runs)} used at most ${memoryText(memory.used)} of memory${usual(memory.asked, memoryText)}`,
    );
  if (fields.cpus != null && cpus)
    texts.push(
      `${runsText(runs)} kept at most ${cpusText(cpus.used)} busy on average${usual(cpus.asked, cpusText)}`,
    );
  if (fields.time_limit_minutes != null && time)
    texts.push(
      time.exceeded
        ? `One of your last runs was ended because ${minutesAsTime(time.used)} weren’t enough.`
        : `${runsText(runs)} took at most ${minutesAsTime(time.used)}${usual(time.asked, minutesAsTime)}`,
    );
  return texts;
}

/** "4 GB, 2 CPUs, 45 min": for the button that fills them in. */
export function fieldsText({ memory_gb, cpus, time_limit_minutes }: SizedFields): string {
  const texts: string[] = [];
  if (memory_gb != null) texts.push(memoryText(memory_gb));
  if (cpus != null) texts.push(cpusText(cpus));
  if (time_limit_minutes != null) texts.push(minutesAsTime(time_limit_minutes));
  return texts.join(', ');
}
