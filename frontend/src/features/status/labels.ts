/** Labels of the system's parts. Pure. */
import { t } from '@lingui/core/macro';
import { joinWithCommas } from '@/i18n/lists';
import { duration } from '@/lib/time';
import type { StateLabel } from '@/ui/StateChip';

export type PartState = 'ok' | 'failing' | 'unknown';

export interface PartStatus {
  part: string;
  /** distinguishes servers; empty if there is only one */
  name: string;
  state: PartState;
  answered_at: string | null;
  latency_ms: number | null;
  message: string;
  suggestion: string;
}

/** Each part's name and purpose. */
const PARTS: Record<string, readonly [name: string, purpose: string]> = {
  slurm: ['Slurm', t`Runs sessions and jobs (slurmctld).`],
  slurmdbd: [t`Slurm's accounting`, t`Records usage and limits (slurmdbd).`],
  directory: [t`Directory`, t`Holds users and their passwords (LDAP).`],
  hub: ['JupyterHub', t`Single sign-on for notebooks.`],
  database: [t`Database`, t`The portal's own records.`],
  nginx: [t`Reverse proxy (nginx)`, t`All pages and notebooks come through it.`],
  origins: [t`Origins`, t`Isolate the pages of notebooks and TensorBoards from the portal.`],
  launcher: [
    t`Job launcher`,
    t`Acts for users on the cluster: submits and stops jobs, reads logs.`,
  ],
  catalog: [t`Catalog`, t`The environments and templates that users choose from.`],
  node_table: [t`Node inventory`, t`The addresses of the nodes on the Cluster page.`],
  nodes: [t`Nodes`, t`Where sessions and jobs run.`],
  gpus: [t`GPU isolation`, t`Keeps each job to the GPUs that Slurm gave it.`],
  disk: [t`Disk`, t`Storage for the portal's data.`],
  mail: [t`E-mail`, t`Sends e-mail notifications (SMTP).`],
};

type Named = Pick<PartStatus, 'part' | 'name'>;

/** Return a part's name, with the server's name if there are several: "Directory
 * ldap1.example.org". */
export function partName({ part, name }: Named): string {
  const own = PARTS[part]?.[0] ?? part;
  return name === '' ? own : `${own} ${name}`;
}

export const purpose = (part: string): string => PARTS[part]?.[1] ?? '';

export function partStateLabel(state: PartState): StateLabel {
  switch (state) {
    case 'ok':
      return { label: t`Works`, tone: 'good' };
    case 'failing':
      return { label: t`Fails`, tone: 'bad' };
    default:
      return { label: t`Unknown`, tone: 'waiting' };
  }
}

/** Format a latency: "0.4 ms", "4 ms", "1.2 s". */
export function latency(ms: number): string {
  if (ms < 1000) {
    const time = ms < 1 ? Math.max(0.1, ms).toFixed(1) : Math.round(ms);
    return t`${time} ms`;
  }
  const seconds = (ms / 1000).toFixed(1);
  return t`${seconds} s`;
}

/** Describe the last response: "answered 3 s ago in 4 ms"; for a failing part, when it last
 * succeeded. */
export function answerText(
  { state, answered_at, latency_ms }: Pick<PartStatus, 'state' | 'answered_at' | 'latency_ms'>,
  nowMs: number,
): string {
  if (answered_at === null) return t`no answer since the portal started`;
  const age = duration(nowMs - Date.parse(answered_at));
  if (state !== 'ok') return t`last answered ${age} ago`;
  if (latency_ms === null) return t`answered ${age} ago`;
  const time = latency(latency_ms);
  return t`answered ${age} ago in ${time}`;
}

/** Summarize all parts in one line. */
export function overall(parts: readonly (Named & Pick<PartStatus, 'state'>)[]): StateLabel {
  const names = (state: PartState): string =>
    joinWithCommas(parts.filter((part) => part.state === state).map(partName));
  const [failing, unknown] = [names('failing'), names('unknown')];
  if (failing !== '') return { label: t`Failing: ${failing}`, tone: 'bad' };
  if (unknown !== '') return { label: t`No failures; unknown: ${unknown}`, tone: 'waiting' };
  return { label: t`Everything works`, tone: 'good' };
}

/** Sort failing parts first, then unknown ones; otherwise in the portal's order. */
export function worstFirst<T extends Pick<PartStatus, 'state'>>(parts: readonly T[]): T[] {
  const rank: Record<PartState, number> = { failing: 0, unknown: 1, ok: 2 };
  return [...parts].sort((a, b) => rank[a.state] - rank[b.state]);
}
