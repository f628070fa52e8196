/** What the event stream carries beside the API's own types. */

export type Level = 'info' | 'warning' | 'critical';

/** What everyone gets of an announcement. */
export interface Announcement {
  id: string;
  level: Level;
  title: string;
  text: string;
  starts_at: string;
  ends_at: string | null;
}
