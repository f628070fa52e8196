/** The parts of the system in words. Pure. */
import type { StateWords } from '@/features/sessions/words';
import { duration } from '@/lib/time';

export type PartState = 'ok' | 'failing' | 'unknown';

export interface PartStatus {
  part: string;
  /** tells one server from another; empty where there is only one */
  name: string;
  state: PartState;
  answered_at: string | null;
  latency_ms: number | null;
  message: string;
  advice: string;
}

/** Each part's name, and what it is there for. */
const PARTS: Record<string, readonly [name: string, purpose: string]> = {
  slurm: ['Slurm', 'Runs sessions and jobs (slurmctld).'],
  slurmdbd: ["Slurm's accounting", 'Knows what was used and what may be used (slurmdbd).'],
  directory: ['Directory', 'Knows people and their passwords (LDAP).'],
  hub: ['JupyterHub', 'Single sign-on for notebooks.'],
  database: ['Database', "The portal's own records."],
  nginx: ['Front door', 'All pages and notebooks come through it (nginx).'],
  launcher: ['Launcher', 'Acts for people on the cluster: submits, stops, reads their logs.'],
  catalog: ['Catalog', 'The environments and templates that people choose from.'],
  node_table: ['Table of nodes', 'The addresses of nodes that the page Cluster shows.'],
  nodes: ['Nodes', 'Where sessions and jobs run.'],
  disk: ['Disk', 'Room for what the portal writes.'],
  mail: ['E-mail', 'Takes what the portal tells people (SMTP).'],
};

type Named = Pick<PartStatus, 'part' | 'name'>;

/** "Directory ldap1.example.org": the server's name where there are several. */
export function partName({ part, name }: Named): string {
  const own = PARTS[part]?.[0] ?? part;
  return name === '' ? own : `${own} ${name}`;
}

export const purpose = (part: string): string => PARTS[part]?.[1] ?? '';

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
  if (answered_at === null) return 'no answer since the portal started';
  const since = `${duration(nowMs - Date.parse(answered_at))} ago`;
  if (state !== 'ok') return `last answered ${since}`;
  return latency_ms === null ? `answered ${since}` : `answered ${since} in ${latency(latency_ms)}`;
}

/** All of it in one line. */
export function overall(parts: readonly (Named & Pick<PartStatus, 'state'>)[]): StateWords {
  const names = (state: PartState): string =>
    parts
      .filter((part) => part.state === state)
      .map(partName)
      .join(', ');
  const [failing, unknown] = [names('failing'), names('unknown')];
  if (failing !== '') return { label: `Trouble with: ${failing}`, tone: 'bad' };
  if (unknown !== '') return { label: `Nothing fails. Not known: ${unknown}`, tone: 'waiting' };
  return { label: 'Everything works', tone: 'good' };
}

/** What fails comes first, then what nobody knows; else in the portal's own order. */
export function worstFirst<T extends Pick<PartStatus, 'state'>>(parts: readonly T[]): T[] {
  const rank: Record<PartState, number> = { failing: 0, unknown: 1, ok: 2 };
  return [...parts].sort((a, b) => rank[a.state] - rank[b.state]);
}
