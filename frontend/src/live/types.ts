/** Types of the event stream, beside the API's own. */

export type Level = 'info' | 'warning' | 'critical';

/** The part of an announcement that all users receive. */
export interface Announcement {
  id: string;
  level: Level;
  title: string;
  text: string;
  starts_at: string;
  ends_at: string | null;
}
