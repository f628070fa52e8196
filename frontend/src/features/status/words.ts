/** The parts of the system in words. Pure. */
import type { StateWords } from '@/features/sessions/words';
import { duration } from '@/lib/time';

export type PartState = 'ok' | 'failing' | 'unknown';

export interface PartStatus {
  part: string;
  state: PartState;
  answered_at: string | null;
  latency_ms: number | null;
  message: string;
  advice: string;
}

/** Each part's name, and what it is there for. */
const PARTS: Record<string, { name: string; what: string }> = {
  slurm: { name: 'Slurm', what: 'The controller that runs sessions and jobs (slurmctld).' },
  slurmdbd: {
    name: "Slurm's accounting",
    what: 'What was used and what may be used (slurmdbd).',
  },
  directory: { name: 'Directory', what: 'Who people are, and their passwords (LDAP).' },
  hub: { name: 'JupyterHub', what: 'Single sign-on for notebooks.' },
  database: { name: 'Database', what: "The portal's own records." },
  nginx: { name: 'Front door', what: 'All pages and notebooks come through it (nginx).' },
  nodes: { name: 'Nodes', what: 'Where sessions and jobs run.' },
};

export const partWords = (part: string): { name: string; what: string } =>
  PARTS[part] ?? { name: part, what: '' };

export function stateWords(state: PartState): StateWords {
  switch (state) {
    case 'ok':
      return { label: 'Works', tone: 'good' };
    case 'failing':
      return { label: 'Fails', tone: 'bad' };
    default:
      return { label: 'Not known', tone: 'waiting' };
  }
}

/** "0.4 ms", "4 ms", "1.2 s". */
export function latency(ms: number): string {
  if (ms < 1) return `${Math.max(0.1, ms).toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return `${(ms / 1000).toFixed(1)} s`;
}

/** "answered 3 s ago in 4 ms"; of a part that fails, when it last did. */
export function answerText(
  { state, answered_at, latency_ms }: Pick<PartStatus, 'state' | 'answered_at' | 'latency_ms'>,
  nowMs: number,
): string {
  if (answered_at === null) return 'has not answered since the portal started';
  const since = `${duration(nowMs - Date.parse(answered_at))} ago`;
  if (state !== 'ok') return `last answered ${since}`;
  return latency_ms === null
    ? `answered ${since}`
    : `answered ${since} in ${latency(latency_ms)}`;
}

/** All of it in one line. */
export function overall(parts: readonly Pick<PartStatus, 'part' | 'state'>[]): StateWords {
  const names = (state: PartState): string =>
    parts
      .filter((part) => part.state === state)
      .map(({ part }) => partWords(part).name)
      .join(', ');
  const [failing, unknown] = [names('failing'), names('unknown')];
  if (failing !== '') return { label: `Trouble with: ${failing}`, tone: 'bad' };
  if (unknown !== '') return { label: `Not known: ${unknown}`, tone: 'waiting' };
  return { label: 'Everything works', tone: 'good' };
}

/** What fails comes first, then what nobody knows; else in the portal's own order. */
export function worstFirst<T extends Pick<PartStatus, 'state'>>(parts: readonly T[]): T[] {
  const rank: Record<PartState, number> = { failing: 0, unknown: 1, ok: 2 };
  return [...parts].sort((a, b) => rank[a.state] - rank[b.state]);
}
