/** What the API says of people and groups, by the names these pages use. */

export type Role = 'user' | 'viewer' | 'admin';
export type Ability = 'create' | 'edit' | 'delete' | 'groups' | 'password' | 'lock' | 'disable';
export interface Capabilities {
  kind: string;
  missing: Partial<Record<Ability, string>>;
}
export interface PersonRow {
  username: string;
  display_name: string;
  email: string | null;
  uid: number | null;
  role: Role;
  disabled: boolean;
  locked: boolean;
  must_change_password: boolean;
  in_directory: boolean;
  known: boolean;
  last_login_at: string | null;
  user_id: string | null;
  missing_since: string | null;
  deleted_at: string | null;
}
export interface HomeRun {
  task: 'create' | 'archive' | 'delete';
  state: 'queued' | 'running' | 'done' | 'failed';
  output: string;
  exit_code: number | null;
  created_at: string;
  ended_at: string | null;
}
export interface Person extends PersonRow {
  given_name: string | null;
  surname: string | null;
  gid: number | null;
  home: string | null;
  shell: string | null;
  groups: string[];
  leads: string[];
  version: string;
  directory_role: Role | null;
  granted_role: Role | null;
  granted_by: string | null;
  granted_at: string | null;
  disabled_by: string | null;
  disabled_why: string | null;
  disabled_at: string | null;
  disabled_jobs: 'cancel' | 'leave' | null;
  directory_wants: 'disabled' | 'enabled' | 'deleted' | null;
  closed_at: string | null;
  second_factor: boolean;
  web_sessions: number;
  tokens: number;
  live: { sessions: number; jobs: number };
  home_runs: HomeRun[];
  capabilities: Capabilities;
}
export interface OneTimePassword {
  password: string;
  must_change: boolean;
}
