/** Where a session's terminals are, as its JupyterLab opens them (spawner/node/jupyter/terminal_link.py). Pure. */
import { t } from '@lingui/core/macro';
import type { Environment, Session } from '@/api/types';
import { translateExact } from '@/i18n/translate';

export interface TerminalPlace {
  label: string;
  /** what the label leaves open */
  note: string | null;
  href: string;
}

type Known = Pick<Environment, 'name' | 'title' | 'kernel' | 'available'>;

/** The node itself, then the session's own environment, then the others that it offers. */
export function terminalPlaces(
  url: string,
  session: Pick<Session, 'environment' | 'node'>,
  environments: readonly Known[],
): TerminalPlace[] {
  const own = ({ name }: Known): boolean => name === session.environment;
  const offered = environments.filter((known) => known.kernel && known.available);
  const ordered = [...offered.filter(own), ...offered.filter((known) => !own(known))];
  const link = (name: string): string => `${url}portal/terminal/${name}`;
  return [
    { label: t`On the node`, note: session.node, href: link('node') },
    ...ordered.map((known) => ({
      label: t`In ${{ environment: translateExact(known.title) }}`,
      note: own(known) ? t`this session’s` : null,
      href: link(`env_${known.name}`),
    })),
  ];
}
