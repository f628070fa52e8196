/** What the palette offers, and which of it a text finds. Pure. */
import { t } from '@lingui/core/macro';
import type { Job, Me, Session } from '@/api/types';
import { SECTIONS } from '@/features/account/sections';
import { ADMIN_PARTS } from '@/features/admin/nav';
import { jobStateLabel } from '@/features/jobs/labels';
import { stateLabel } from '@/features/sessions/labels';
import { translateExact } from '@/i18n/translate';
import { seesAdmin } from '@/lib/roles';
import { isLive } from '@/live/reducer';

export type Act = 'shortcuts' | 'light' | 'dark' | 'auto' | 'log-out';

export type Doing =
  /** a page of the portal */
  | { kind: 'page'; href: string }
  /** something of a node's, which gets a tab of its own */
  | { kind: 'tab'; href: string }
  | { kind: 'act'; act: Act };

export interface Command {
  id: string;
  title: string;
  /** what kind of thing it is, or how it is with it */
  detail: string;
  /** other words that users may look for it by; in other languages than English, English ones too */
  keywords?: string;
  does: Doing;
}

const page = (href: string, title: string, keywords = '', detail = t`Page`): Command => ({
  id: href,
  title,
  detail,
  keywords,
  does: { kind: 'page', href },
});

const PAGES: readonly Command[] = [
  page('/start', t`Start a session`, t`new notebook jupyter gpu`, t`Action`),
  page('/jobs/new', t`Submit a job`, t`new template script batch sbatch`, t`Action`),
  page('/', t`Home`, t`sessions overview`),
  page('/jobs', t`Jobs`, t`queue list`),
  page('/benchmarks', t`Benchmark results`, t`speed figures compare`),
  page('/cluster', t`Cluster`, t`nodes gpus partitions queue maintenance`),
  page('/files', t`Files`, t`upload download folder home quota`),
  page('/shared', t`Shared with you`, t`tensorboard shared by others`),
  page('/account', t`Your account`, t`profile name groups e-mail`),
  ...SECTIONS.slice(1).map(({ slug, label }) =>
    page(`/account/${slug}`, label, t`your account my`),
  ),
  page('/glossary', t`Words explained`, t`glossary help what is meaning terms`),
];

const act = (what: Act, title: string, keywords = ''): Command => ({
  id: what,
  title,
  detail: t`Action`,
  keywords,
  does: { kind: 'act', act: what },
});

const ACTS: readonly Command[] = [
  act('dark', t`Dark appearance`, t`theme night colour color mode`),
  act('light', t`Light appearance`, t`theme day bright colour color mode`),
  act('auto', t`System appearance`, t`theme automatic colour color mode`),
  act('shortcuts', t`Keyboard shortcuts`, t`keys help`),
  act('log-out', t`Log out`, t`sign out leave`),
];

function adminPages(me: Me): Command[] {
  if (!seesAdmin(me)) return [];
  const places = ADMIN_PARTS.flatMap((part) => part.places);
  return places.map(({ to, label }) => page(to, label, t`admin administration`, t`Administration`));
}

const managedGroups = (me: Me): Command[] =>
  me.manages.map((group) =>
    page(`/groups/${encodeURIComponent(group)}`, t`Group ${group}`, t`lead members limits`),
  );

function sessionCommands(session: Session): Command[] {
  const { id, name, url, environment_title } = session;
  const keywords = `${translateExact(environment_title)} ${t`session notebook`} ${session.node ?? ''}`;
  const state = stateLabel(session).label;
  const own = page(`/sessions/${id}`, name, keywords, t`Session, ${state}`);
  if (session.state !== 'running' || url === null) return [own];
  const lab: Command = {
    id: `${id} lab`,
    title: t`Open JupyterLab of ${name}`,
    detail: t`Opens a tab`,
    keywords,
    does: { kind: 'tab', href: url },
  };
  return [lab, own];
}

function jobCommand({ id, name, template, job_id, node, ...job }: Job): Command {
  const state = jobStateLabel(job).label;
  const kind = template === null ? t`job script` : t`job ${template}`;
  const keywords = `${kind} ${job_id ?? ''} ${node ?? ''}`;
  return page(`/jobs/${id}`, name, keywords, t`Job, ${state}`);
}

interface Known {
  me: Me;
  sessions: readonly Session[] | null;
  jobs: readonly Job[] | null;
}

/** Everything there is to find, what lives first. */
export function allCommands({ me, sessions, jobs }: Known): Command[] {
  const live = (sessions ?? []).filter(isLive);
  const ended = (sessions ?? []).filter((session) => !isLive(session));
  return [
    ...live.flatMap(sessionCommands),
    ...PAGES,
    ...managedGroups(me),
    ...adminPages(me),
    ...ACTS,
    ...(jobs ?? []).map(jobCommand),
    ...ended.flatMap(sessionCommands),
  ];
}

/** What is worth offering before anything is typed. */
const FIRST = 12;
const MOST = 30;

/** Letters without case and accents. */
const plain = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

/** How well the words fit, less is better; null when one of them isn't there at all. */
function misfit(command: Command, wanted: readonly string[]): number | null {
  const title = plain(command.title);
  const all = `${title} ${plain(command.detail)} ${plain(command.keywords ?? '')}`;
  let worst = 0;
  for (const word of wanted) {
    const at = title.indexOf(word);
    if (at === 0) continue;
    if (at > 0) worst = Math.max(worst, title[at - 1] === ' ' ? 1 : 2);
    else if (all.includes(word)) worst = 3;
    else return null;
  }
  return worst;
}

/** Those that `text` finds, the best first; among equals the order stays. */
export function matching(commands: readonly Command[], text: string): Command[] {
  const wanted = plain(text).split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return commands.slice(0, FIRST);
  return commands
    .flatMap((command) => {
      const fits = misfit(command, wanted);
      return fits === null ? [] : [{ command, fits }];
    })
    .sort((a, b) => a.fits - b.fits)
    .slice(0, MOST)
    .map(({ command }) => command);
}

/** Where to look further when what this page knows isn't all there is. */
export function searches(me: Me, text: string): Command[] {
  const wanted = text.trim();
  if (wanted === '') return [];
  const q = encodeURIComponent(wanted);
  const among = (path: string, title: string): Command =>
    page(`${path}?q=${q}`, title, wanted, t`Search`);
  return [
    among('/jobs', t`Search all your jobs for “${wanted}”`),
    ...(seesAdmin(me) ? [among('/admin/users', t`Search users for “${wanted}”`)] : []),
  ];
}

interface Found {
  username: string;
  display_name: string;
}

export const userCommand = ({ username, display_name }: Found): Command =>
  page(`/admin/users/${encodeURIComponent(username)}`, display_name, username, username);
