/** What a job's last runs say about how much it should ask for. Pure. */
import { plural, t } from '@lingui/core/macro';
import type { Cluster, Environment, Sizing } from '@/api/types';
import type { Draft } from '@/features/start/check';
import { joinWithCommas } from '@/i18n/lists';
import { memoryText } from '@/lib/resourceLabels';
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

export const isSized = ({ node }: JobDraft, fields: SizedFields): boolean =>
  SIZED.every((field) => !(field in fields) || node[field] === fields[field]);

/** Other GPUs or nodes than those runs had, which may need more. */
export const hasOtherShape = (draft: JobDraft, base: JobDraft): boolean =>
  draft.node.gpus !== base.node.gpus || draft.nodes !== base.nodes;

/** What earlier runs used at most, as a sentence without its full stop. */
interface UsageSentence {
  one: (used: string) => string;
  several: (runs: number, used: string) => string;
}

const USAGE_SENTENCES: Record<Sized, UsageSentence> = {
  memory_gb: {
    one: (used) => t`Your last run used ${used} of memory`,
    several: (runs, used) => t`Your last ${runs} runs used at most ${used} of memory`,
  },
  cpus: {
    one: (used) => t`Your last run kept ${used} busy on average`,
    several: (runs, used) => t`Your last ${runs} runs kept at most ${used} busy on average`,
  },
  time_limit_minutes: {
    one: (used) => t`Your last run took ${used}`,
    several: (runs, used) => t`Your last ${runs} runs took at most ${used}`,
  },
};

/** What was asked for: it follows the other one after a semicolon. */
const USUAL: Record<Whose, (text: string) => string> = {
  template: (text) => t`the template’s own number is ${text}`,
  job: (text) => t`that job requested ${text}`,
  script: (text) => t`the last one requested ${text}`,
};

/** "1 CPU", "1.2 CPUs", "less than 0.1 CPUs". */
function cpusText(cpus: number): string {
  if (cpus < 0.1) return t`less than 0.1 CPUs`;
  return plural(Number(cpus.toFixed(1)), { one: '# CPU', other: '# CPUs' });
}

const UNITS: Record<Sized, (value: number) => string> = {
  memory_gb: memoryText,
  cpus: cpusText,
  time_limit_minutes: minutesAsTime,
};

function exceededText(field: Sized, used: string): string {
  return field === 'memory_gb'
    ? t`One of your last runs was ended because ${used} of memory was not enough.`
    : t`One of your last runs was ended because ${used} was not enough.`;
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
    const ran =
      runs === 1 ? USAGE_SENTENCES[field].one(used) : USAGE_SENTENCES[field].several(runs, used);
    if (figure.asked === null) return [t`${ran}.`];
    return [t`${ran}; ${{ asked: USUAL[whose](text(figure.asked)) }}.`];
  });
}

/** "4 GB, 2 CPUs, 45 min": for the button that fills them in. */
export function fieldsText(fields: SizedFields): string {
  return joinWithCommas(
    SIZED.flatMap((field) => {
      const value = fields[field];
      return value == null ? [] : [UNITS[field](value)];
    }),
  );
}
