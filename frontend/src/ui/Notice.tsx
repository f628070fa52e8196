import type { ReactNode } from 'react';
import { Icon } from './icons';
import classes from './Notice.module.css';

interface Props {
  tone: 'info' | 'warning' | 'error';
  children: ReactNode;
  /** whether screen readers announce it at once */
  urgent?: boolean;
}

/** A message in a box: information, a warning or an error. */
export function Notice({ tone, children, urgent = tone === 'error' }: Props) {
  return (
    <div className={`${classes.notice} ${classes[tone]}`} role={urgent ? 'alert' : undefined}>
      <Icon name={tone === 'info' ? 'chip' : 'alert'} />
      <div>{children}</div>
    </div>
  );
}
