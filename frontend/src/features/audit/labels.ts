/** Labels of audit events. Pure. */
import { t } from '@lingui/core/macro';
import { joinWithCommas } from '@/i18n/lists';
import { utcTime } from '@/lib/time';
import type { Tone } from '@/ui/tones';
import { nameText } from './names';

const BAD = /(^|[._])(failed|refused)$/;

/** Highlight refused actions; all others are neutral. */
export const actionTone = (action: string): Tone => (BAD.test(action) ? 'bad' : 'quiet');

export interface Action {
  action: string;
  title: string;
}

interface Kind {
  name: string;
  /** the filter for all actions of this kind; null if there is only one */
  all: string | null;
  actions: Action[];
}

/** Group the actions by kind, for the filter. */
export function groupByKind(actions: readonly Action[]): Kind[] {
  const kinds = new Map<string, Action[]>();
  for (const action of actions) {
    const kind = action.action.split('.')[0] ?? action.action;
    kinds.set(kind, [...(kinds.get(kind) ?? []), action]);
  }
  return [...kinds]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([kind, actions]) => ({
      name: nameText(kind),
      all: actions.length > 1 && actions.every(({ action }) => action !== kind) ? `${kind}.` : null,
      actions,
    }));
}

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Format a value; an empty one is a dash. */
export function auditValueText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'boolean') return value ? t`yes` : t`no`;
  if (typeof value === 'string' && MOMENT.test(value)) return utcTime(value);
  if (Array.isArray(value))
    return value.length === 0 ? '–' : joinWithCommas(value.map(auditValueText));
  if (typeof value === 'object') {
    const parts = Object.entries(value).map(([name, item]) => `${name}: ${auditValueText(item)}`);
    return parts.length === 0 ? '–' : joinWithCommas(parts);
  }
  return String(value);
}

/** The portal's reasons for refusing a login or a password. */
const REASONS: Readonly<Record<string, string>> = {
  WrongCredentials: t({ message: 'Wrong password', context: 'in the audit' }),
  WrongCode: t({ message: 'Wrong code', context: 'in the audit' }),
  TooManyAttempts: t({ message: 'Too many attempts', context: 'in the audit' }),
  AccountLocked: t({ message: 'Account locked', context: 'in the audit' }),
  AccountDisabled: t({ message: 'Account disabled', context: 'in the audit' }),
  PasswordExpired: t({ message: 'Password expired', context: 'in the audit' }),
  Forbidden: t({ message: 'Not allowed to log in', context: 'in the audit' }),
  disabled: t({ message: 'Account disabled', context: 'in the audit' }),
  deleted: t({ message: 'Account deleted', context: 'in the audit' }),
  'no group': t({ message: 'In no login group', context: 'in the audit' }),
  'another UID': t({ message: 'UID has changed', context: 'in the audit' }),
};

/** Format a detail. An administrator's own reason is not translated. */
function detailText(name: string, value: unknown): string {
  const isReason = name === 'why' && typeof value === 'string' && Object.hasOwn(REASONS, value);
  return auditValueText(isReason ? REASONS[value] : value);
}

export interface EventDetails {
  changes: readonly { field: string; old?: unknown; new?: unknown }[];
  detail: Readonly<Record<string, unknown>>;
}

/** One line of an event's details: a change has an old and a new value, others only the new one. */
export interface Line {
  name: string;
  old?: string;
  now: string;
}

export function toLines({ changes, detail }: EventDetails): Line[] {
  const changed = changes.map((change) => ({
    name: nameText(change.field),
    old: auditValueText(change.old),
    now: auditValueText(change.new),
  }));
  const fields = new Set(changes.map(({ field }) => field));
  const rest = Object.entries(detail).filter(([name]) => !fields.has(name));
  return [
    ...changed,
    ...rest.map(([name, value]) => ({ name: nameText(name), now: detailText(name, value) })),
  ];
}

/** Summarize the details in one line for a collapsed row; internal ids are omitted. */
export function summary({ changes, detail: { id: _id, ...detail } }: EventDetails): string {
  return toLines({ changes, detail })
    .map(({ name, old, now }) =>
      old === undefined ? t`${name}: ${now}` : t`${name}: ${old} → ${now}`,
    )
    .reduce((all, next) => (all === '' ? next : t`${all}; ${next}`), '');
}
