/** Commands for the user's computer that prepare SSH connections. They match
 * portal/services/sessions/ssh_config.py. Pure. */

/** The program's address, from which the browser downloads it. */
export const PROGRAM_PATH = '/api/v1/ssh/portal_ssh.py';

export const MOVE_PROGRAM =
  'mkdir -p -m 700 ~/.ssh/portal\nmv ~/Downloads/portal_ssh.py ~/.ssh/portal/';

/** The token is read from the terminal: a command line could be read by others. */
export const SAVE_TOKEN =
  '(umask 077; read -rs TOKEN; printf "%s\\n" "$TOKEN" > ~/.ssh/portal/token)';
