/** The texts on the resources that earlier runs suggest. Pure. */
import { plural, t } from '@lingui/core/macro';
import type { Sizing } from '@/api/types';
import { joinWithCommas } from '@/i18n/lists';
import { memoryText } from '@/lib/sizes';
import { minutesAsTime } from '@/lib/time';
import { type ComparedWith, SIZED, type Sized, type SizedFields } from './sizing';

/** Sentences on the highest usage of earlier runs, without a full stop. */
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
    one: (used) => t`Your last run used ${used} on average`,
    several: (runs, used) => t`Your last ${runs} runs used at most ${used} on average`,
  },
  time_limit_minutes: {
    one: (used) => t`Your last run took ${used}`,
    several: (runs, used) => t`Your last ${runs} runs took at most ${used}`,
  },
};

/** The second half of the sentence, after a semicolon: the requested value. */
const REQUESTED_TEXT: Record<ComparedWith, (text: string) => string> = {
  template: (text) => t`the template's value is ${text}`,
  job: (text) => t`that job requested ${text}`,
  script: (text) => t`the last one requested ${text}`,
};

/** Return a number of CPUs as text, as in "1.2 CPUs" or "less than 0.1 CPUs". */
function usedCpusText(cpus: number): string {
  if (cpus < 0.1) return t`less than 0.1 CPUs`;
  return plural(Number(cpus.toFixed(1)), { one: '# CPU', other: '# CPUs' });
}

const UNITS: Record<Sized, (value: number) => string> = {
  memory_gb: memoryText,
  cpus: usedCpusText,
  time_limit_minutes: minutesAsTime,
};

function exceededText(field: Sized, used: string): string {
  return field === 'memory_gb'
    ? t`One of your last runs was ended because ${used} of memory was not enough.`
    : t`One of your last runs was ended because ${used} was not enough.`;
}

/** Return a sentence for each suggestion that explains it. */
export function hintTexts(sizing: Sizing, fields: SizedFields, source: ComparedWith): string[] {
  const { runs } = sizing;
  return SIZED.flatMap((field) => {
    const figure = sizing[field];
    if (figure === null || fields[field] == null) return [];
    const text = UNITS[field];
    const used = text(figure.used);
    if (figure.exceeded) return [exceededText(field, used)];
    const usage =
      runs === 1 ? USAGE_SENTENCES[field].one(used) : USAGE_SENTENCES[field].several(runs, used);
    if (figure.asked === null) return [t`${usage}.`];
    return [t`${usage}; ${{ requested: REQUESTED_TEXT[source](text(figure.asked)) }}.`];
  });
}

/** Return the suggested values as text, as in "4 GB, 2 CPUs, 45 min". */
export function fieldsText(fields: SizedFields): string {
  return joinWithCommas(
    SIZED.flatMap((field) => {
      const value = fields[field];
      return value == null ? [] : [UNITS[field](value)];
    }),
  );
}
