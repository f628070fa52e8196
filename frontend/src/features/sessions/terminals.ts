/** The addresses of a session's terminals, which its JupyterLab opens
 * (spawner/node/jupyter/terminal_link.py). Pure. */
import { t } from '@lingui/core/macro';
import type { Environment, Session } from '@/api/types';
import { translateExact } from '@/i18n/translate';

export interface TerminalPlace {
  label: string;
  /** details that the label omits */
  note: string | null;
  href: string;
}

type TerminalEnvironment = Pick<Environment, 'name' | 'title' | 'kernel' | 'available'>;

/** Return the node itself, then the session's own environment, then the others that have a kernel. */
export function terminalPlaces(
  url: string,
  session: Pick<Session, 'environment' | 'node'>,
  environments: readonly TerminalEnvironment[],
): TerminalPlace[] {
  const own = ({ name }: TerminalEnvironment): boolean => name === session.environment;
  const offered = environments.filter((environment) => environment.kernel && environment.available);
  const ordered = [...offered.filter(own), ...offered.filter((environment) => !own(environment))];
  const link = (name: string): string => `${url}portal/terminal/${name}`;
  return [
    { label: t`On the node`, note: session.node, href: link('node') },
    ...ordered.map((environment) => ({
      label: t`In ${{ environment: translateExact(environment.title) }}`,
      note: own(environment) ? t`this session's` : null,
      href: link(`env_${environment.name}`),
    })),
  ];
}
