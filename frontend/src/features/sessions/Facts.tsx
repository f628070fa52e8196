import type { Session } from '@/api/types';
import { resourceTexts } from '@/lib/resourceLabels';
import classes from './SessionCard.module.css';

interface Props {
  session: Pick<Session, 'node' | 'resources'>;
  /** the known resources, if not all are known */
  texts?: string[];
}

/** The node and the resources of a session or job. */
export function Facts({ session, texts = resourceTexts(session.resources) }: Props) {
  return (
    <ul className={classes.facts}>
      {session.node && (
        <li>
          <strong>{session.node}</strong>
        </li>
      )}
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}
