/** The form of an announcement: its fields, their errors, and the request to the API. Pure. */
import { t } from '@lingui/core/macro';
import { isMoment } from '@/lib/days';
import { isBoolean, isLike, isNumber, isOneOf, isText, orNull } from '@/lib/drafts';
import { twoDigits } from '@/lib/durations';
import type { Level, Announcement as Shown } from '@/live/types';

export type Announcement = Shown & { public: boolean };

export interface AnnouncementValues {
  level: Level;
  title: string;
  text: string;
  /** as 2026-11-22T06:00 in the reader's time zone, or what was typed instead; empty: now */
  starts: string;
  /** empty: until deleted */
  ends: string;
  /** also on the login page */
  public: boolean;
}

export interface AnnouncementRequest {
  level: Level;
  title: string;
  text: string;
  /** absent: now */
  starts_at?: string;
  ends_at: string | null;
  public: boolean;
}

export const LEVELS: Record<Level, { label: string; description: string }> = {
  info: { label: t`Information`, description: t`Everyone can close it.` },
  warning: { label: t`Warning`, description: t`Stands out; everyone can close it.` },
  critical: {
    label: t`Critical`,
    description: t`Users can't close it; screen readers announce it immediately.`,
  },
};

export const MAX_TITLE = 200;

/** The edited announcement, as it was when editing began. */
export type OriginalAnnouncement = Announcement & { version: number };

/** The form's content; `base` is null for a new announcement. */
export interface EditedValues extends AnnouncementValues {
  base: OriginalAnnouncement | null;
}

const isLevel = isOneOf<Level>('info', 'warning', 'critical');

export const isEditedValues = isLike<EditedValues>({
  base: orNull(
    isLike<OriginalAnnouncement>({
      id: isText,
      version: isNumber,
      level: isLevel,
      title: isText,
      text: isText,
      starts_at: isText,
      ends_at: orNull(isText),
      public: isBoolean,
    }),
  ),
  level: isLevel,
  title: isText,
  text: isText,
  starts: isText,
  ends: isText,
  public: isBoolean,
});

/** Format a time for the field, in the reader's time zone. */
export function toField(at: string | null): string {
  if (at === null) return '';
  const d = new Date(at);
  const day = `${d.getFullYear()}-${twoDigits(d.getMonth() + 1)}-${twoDigits(d.getDate())}`;
  return `${day}T${twoDigits(d.getHours())}:${twoDigits(d.getMinutes())}`;
}

export const newValues = (): AnnouncementValues => ({
  level: 'info',
  title: '',
  text: '',
  starts: '',
  ends: '',
  public: false,
});

export const toAnnouncementValues = (announcement: Announcement): AnnouncementValues => ({
  level: announcement.level,
  title: announcement.title,
  text: announcement.text,
  starts: toField(announcement.starts_at),
  ends: toField(announcement.ends_at),
  public: announcement.public,
});

function moment(field: string): string | null {
  return isMoment(field) ? new Date(field).toISOString() : null;
}

export type AnnouncementErrors = Partial<Record<'title' | 'starts_at' | 'ends_at', string>>;

export function formErrors(values: AnnouncementValues): AnnouncementErrors {
  const errors: AnnouncementErrors = {};
  if (values.title.trim() === '') errors.title = t`Summarize it in a few words.`;
  const starts = values.starts === '' ? null : moment(values.starts);
  const ends = values.ends === '' ? null : moment(values.ends);
  if (values.starts !== '' && starts === null) errors.starts_at = t`Enter a day and a time.`;
  if (values.ends !== '' && ends === null) errors.ends_at = t`Enter a day and a time.`;
  return errors;
}

/** Build the request for a new announcement. */
export function toAnnouncementRequest(values: AnnouncementValues): AnnouncementRequest {
  const starts = values.starts === '' ? null : moment(values.starts);
  return {
    level: values.level,
    title: values.title.trim(),
    text: values.text.trim(),
    ...(starts !== null && { starts_at: starts }),
    ends_at: values.ends === '' ? null : moment(values.ends),
    public: values.public,
  };
}

/**
 * For an existing announcement, send only changed fields: the time field has whole minutes, and an
 * untouched time keeps its seconds.
 */
export function changedFields(
  before: Announcement,
  values: AnnouncementValues,
): Partial<AnnouncementRequest> {
  const [old, body] = [toAnnouncementValues(before), toAnnouncementRequest(values)];
  return {
    ...(body.level !== before.level && { level: body.level }),
    ...(body.title !== before.title && { title: body.title }),
    ...(body.text !== before.text && { text: body.text }),
    ...(values.starts !== old.starts &&
      values.starts !== '' && { starts_at: body.starts_at ?? before.starts_at }),
    ...(values.ends !== old.ends && { ends_at: body.ends_at }),
    ...(body.public !== before.public && { public: body.public }),
  };
}

/** Rebase after another user saved: typed fields stay, untouched fields take the saved values. */
export function rebase(
  before: Announcement,
  now: Announcement,
  values: AnnouncementValues,
): AnnouncementValues {
  const [old, theirs] = [toAnnouncementValues(before), toAnnouncementValues(now)];
  const value = <K extends keyof AnnouncementValues>(field: K): AnnouncementValues[K] =>
    values[field] === old[field] ? theirs[field] : values[field];
  return {
    level: value('level'),
    title: value('title'),
    text: value('text'),
    starts: value('starts'),
    ends: value('ends'),
    public: value('public'),
  };
}
