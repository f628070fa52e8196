/** The palette's commands, and the search in them. Pure. */
import { plural, t } from '@lingui/core/macro';
import type { Job, Me, Session } from '@/api/types';
import { SECTIONS } from '@/features/account/sections';
import { ADMIN_GROUPS } from '@/features/admin/nav';
import { fileNameOf, folderOf } from '@/features/files/paths';
import type { FilesSearch } from '@/features/files/search';
import { allowedActions } from '@/features/jobs/actions';
import { jobStateLabel } from '@/features/jobs/labels';
import { extensionChoices } from '@/features/sessions/extend';
import { isRunningOrSuspended, stateLabel } from '@/features/sessions/labels';
import { translateExact } from '@/i18n/translate';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { seesAdmin } from '@/lib/roles';
import { minutesAsTime } from '@/lib/time';
import { isActive } from '@/live/reducer';

export type PaletteAction = 'shortcuts' | 'light' | 'dark' | 'auto' | 'log-out';

/** The effect of a command. */
export type CommandEffect =
  /** a page of the portal */
  | { kind: 'page'; href: string }
  /** an app on a node, which opens in a tab of its own */
  | { kind: 'tab'; href: string }
  | { kind: 'action'; action: PaletteAction }
  /** a file or folder on the Files page */
  | { kind: 'files'; search: FilesSearch }
  /** a change that is made at once */
  | { kind: 'extend'; session: Session; minutes: number }
  | { kind: 'start-again'; session: Session }
  | Question;

/** A change that is confirmed in a dialog first. */
export type Question =
  | { kind: 'stop-session'; session: Session }
  | { kind: 'cancel-job'; job: Job };

export interface Command {
  id: string;
  title: string;
  /** its kind or state */
  detail: string;
  /** synonyms for the search; in languages other than English, English ones too */
  keywords?: string;
  effect: CommandEffect;
}

const page = (href: string, title: string, keywords = '', detail = t`Page`): Command => ({
  id: href,
  title,
  detail,
  keywords,
  effect: { kind: 'page', href },
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
  page('/glossary', t`Glossary`, t`glossary help what is meaning terms`),
];

const actionCommand = (action: PaletteAction, title: string, keywords = ''): Command => ({
  id: action,
  title,
  detail: t`Action`,
  keywords,
  effect: { kind: 'action', action },
});

const ACTIONS: readonly Command[] = [
  actionCommand('dark', t`Dark appearance`, t`theme night colour color mode`),
  actionCommand('light', t`Light appearance`, t`theme day bright colour color mode`),
  actionCommand('auto', t`System appearance`, t`theme automatic colour color mode`),
  actionCommand('shortcuts', t`Keyboard shortcuts`, t`keys help`),
  actionCommand('log-out', t`Log out`, t`sign out leave`),
];

function adminPages(me: Me): Command[] {
  if (!seesAdmin(me)) return [];
  const entries = ADMIN_GROUPS.flatMap((part) => part.entries);
  return entries.map(({ to, label }) =>
    page(to, label, t`admin administration`, t`Administration`),
  );
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
    effect: { kind: 'tab', href: url },
  };
  return [lab, own];
}

const actCommand = (
  id: string,
  title: string,
  keywords: string,
  effect: CommandEffect,
): Command => ({
  id,
  title,
  detail: effect.kind === 'tab' ? t`Opens a tab` : t`Action`,
  keywords,
  effect,
});

/** Return what can be done with a session in its state, besides opening it. */
export function sessionActions(session: Session): Command[] {
  const { id, name, state, extension } = session;
  const commands: Command[] = [];
  if (isRunningOrSuspended(session)) {
    const href = `/sessions/${id}/tensorboard`;
    const choices = extensionChoices(extension?.minutes ?? 0);
    commands.push(
      ...choices.map((minutes) => {
        const time = minutesAsTime(minutes);
        const effect: CommandEffect = { kind: 'extend', session, minutes };
        return actCommand(`${id} ${minutes}`, t`${time} more for ${name}`, t`extend time`, effect);
      }),
      actCommand(href, t`Open TensorBoard of ${name}`, t`curves loss`, { kind: 'tab', href }),
      logCommand(`/sessions/${id}/log`, name),
    );
  }
  if (state === 'ended')
    commands.push(
      actCommand(`${id} start-again`, t`Start ${name} again`, t`restart`, {
        kind: 'start-again',
        session,
      }),
    );
  else if (state !== 'stopping')
    commands.push(
      actCommand(`${id} stop`, t`Stop ${name}…`, t`end cancel kill`, {
        kind: 'stop-session',
        session,
      }),
    );
  return commands;
}

const logCommand = (href: string, name: string): Command =>
  actCommand(href, t`Open the log of ${name}`, t`output errors stdout`, { kind: 'page', href });

/** Return what a job's state allows, besides opening its page. */
export function jobActions(job: Job): Command[] {
  const { id, name } = job;
  const can = allowedActions(job);
  const tensorboard = `/jobs/${id}/tensorboard`;
  const again = `/jobs/new?from=${id}`;
  return [
    ...(can.log ? [logCommand(`/jobs/${id}/log`, name)] : []),
    ...(can.tensorboard
      ? [
          actCommand(tensorboard, t`Open TensorBoard of ${name}`, t`curves loss`, {
            kind: 'tab',
            href: tensorboard,
          }),
        ]
      : []),
    ...(can.runAgain
      ? [actCommand(again, t`Run ${name} again`, t`repeat submit`, { kind: 'page', href: again })]
      : []),
    ...(can.cancel
      ? [
          actCommand(`${id} cancel`, t`Cancel ${name}…`, t`end stop kill`, {
            kind: 'cancel-job',
            job,
          }),
        ]
      : []),
  ];
}

export function jobCommand({ id, name, template, job_id, node, ...job }: Job): Command {
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

/** Return all commands, active sessions and jobs first, and their actions last. */
export function allCommands({ me, sessions, jobs }: Known): Command[] {
  const activeSessions = (sessions ?? []).filter(isActive);
  const ended = (sessions ?? []).filter((session) => !isActive(session));
  return [
    ...activeSessions.flatMap(sessionCommands),
    ...PAGES,
    ...managedGroups(me),
    ...adminPages(me),
    ...ACTIONS,
    ...(jobs ?? []).map(jobCommand),
    ...ended.flatMap(sessionCommands),
    ...[...activeSessions, ...ended].flatMap(sessionActions),
    ...(jobs ?? []).flatMap(jobActions),
  ];
}

/** The number of commands offered before anything is typed. */
const FIRST = 12;
const MAX_RESULTS = 30;

/** Normalize a text: without case and accents. */
const normalize = (text: string): string =>
  text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

/** Rate how well the words match, less is better; null if one of them is missing. */
function mismatch(command: Command, words: readonly string[]): number | null {
  const title = normalize(command.title);
  const all = `${title} ${normalize(command.detail)} ${normalize(command.keywords ?? '')}`;
  let worst = 0;
  for (const word of words) {
    const start = title.indexOf(word);
    if (start === 0) continue;
    if (start > 0) worst = Math.max(worst, title[start - 1] === ' ' ? 1 : 2);
    else if (all.includes(word)) worst = 3;
    else return null;
  }
  return worst;
}

/** Return the commands that match `text`, best first; otherwise in their order. */
export function matchCommands(commands: readonly Command[], text: string): Command[] {
  const words = normalize(text).split(/\s+/).filter(Boolean);
  if (words.length === 0) return commands.slice(0, FIRST);
  return commands
    .flatMap((command) => {
      const fits = mismatch(command, words);
      return fits === null ? [] : [{ command, fits }];
    })
    .sort((a, b) => a.fits - b.fits)
    .slice(0, MAX_RESULTS)
    .map(({ command }) => command);
}

/** Return a text without the words of the commands for jobs: the rest may be a job's name. If nothing
 * is left, return the whole text. */
export function jobNameIn(text: string): string {
  const name = '';
  const actions = [
    t`Open the log of ${name}`,
    t`Open TensorBoard of ${name}`,
    t`Run ${name} again`,
    t`Cancel ${name}…`,
    t`output errors stdout`,
    t`curves loss`,
    t`repeat submit`,
    t`end stop kill`,
  ];
  const known = new Set(actions.flatMap((action) => normalize(action).split(/[\s…]+/)));
  const words = text.split(/\s+/).filter((word) => !known.has(normalize(word)));
  return words.length === 0 ? text : words.join(' ');
}

/** Return the commands that are not among the known ones. */
export function withoutKnown(commands: readonly Command[], known: readonly Command[]): Command[] {
  const ids = new Set(known.map(({ id }) => id));
  return commands.filter(({ id }) => !ids.has(id));
}

/** Return commands that continue the search on a page with all entries. */
export function searchCommands(me: Me, text: string): Command[] {
  const wanted = text.trim();
  if (wanted === '') return [];
  const q = encodeURIComponent(wanted);
  const searchPage = (path: string, title: string): Command =>
    page(`${path}?q=${q}`, title, wanted, t`Search`);
  return [
    searchPage('/jobs', t`Search all your jobs for “${wanted}”`),
    ...(seesAdmin(me) ? [searchPage('/admin/users', t`Search users for “${wanted}”`)] : []),
  ];
}

interface FoundUser {
  username: string;
  display_name: string;
}

export const userCommand = ({ username, display_name }: FoundUser): Command =>
  page(`/admin/users/${encodeURIComponent(username)}`, display_name, username, username);

interface FoundFile {
  root: string;
  path: string;
  kind: string;
}

/** Return the command that shows a found file in its folder, or opens a folder. */
export function fileCommand({ root, path, kind }: FoundFile): Command {
  const folder = folderOf(path);
  const isFolder = kind === 'folder';
  const shown = isFolder ? path : folder;
  return {
    id: `file ${root}/${path}`,
    title: escapeInvisible(fileNameOf(path)),
    detail: folder === '' ? (isFolder ? t`Folder` : t`File`) : escapeInvisible(folder),
    effect: {
      kind: 'files',
      search: {
        root,
        ...(shown === '' ? {} : { path: shown }),
        ...(isFolder ? {} : { show: fileNameOf(path) }),
      },
    },
  };
}

interface FileMatches {
  stopped: 'time' | 'entries' | 'found' | null;
  unreadable: number;
}

/** Return why files may be missing among those found; empty if all was searched. */
export function missingFilesTexts({ stopped, unreadable }: FileMatches): string[] {
  const texts: string[] = [];
  if (stopped === 'time')
    texts.push(t`The search for files took too long and stopped: there may be more.`);
  if (stopped === 'entries')
    texts.push(t`There are too many files to search all of them: there may be more.`);
  if (stopped === 'found')
    texts.push(t`Only the first files found are listed. Type more of the name.`);
  if (unreadable > 0)
    texts.push(
      plural(unreadable, {
        one: '# folder could not be searched: you may not read it.',
        other: '# folders could not be searched: you may not read them.',
      }),
    );
  return texts;
}
