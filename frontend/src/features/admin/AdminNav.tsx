import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { UnstyledButton } from '@mantine/core';
import { Link, useLocation } from '@tanstack/react-router';
import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { Icon } from '@/ui/icons';
import classes from './AdminNav.module.css';
import { ADMIN_GROUPS, currentEntry, isCurrent } from './nav';

/** The navigation of the administrators' pages: a bar, or a dropdown on a phone. */
export function AdminNav() {
  const path = useLocation({ select: (location) => location.pathname });
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const closeOnEscape = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !open) return;
    setOpen(false);
    button.current?.focus();
  };
  return (
    <nav className={classes.nav} aria-label={t`Administration`} onKeyDown={closeOnEscape}>
      <UnstyledButton
        ref={button}
        className={classes.opener}
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        <span>
          <span className={classes.where}>
            <Trans>Administration</Trans>
          </span>{' '}
          {currentEntry(path)?.label ?? t`Choose a page`}
        </span>
        <Icon name="down" size={16} />
      </UnstyledButton>
      <div id={id} className={classes.parts} data-open={open}>
        {ADMIN_GROUPS.map((part) => (
          <ul key={part.title} className={classes.part} aria-label={part.title}>
            <li className={classes.title} aria-hidden="true">
              {part.title}
            </li>
            {part.entries.map((entry) => (
              <li key={entry.to}>
                <Link
                  to={entry.to}
                  className={classes.link}
                  activeOptions={{ exact: true }}
                  aria-current={isCurrent(entry, path) ? 'page' : undefined}
                  onClick={() => setOpen(false)}
                >
                  {entry.label}
                </Link>
              </li>
            ))}
          </ul>
        ))}
      </div>
    </nav>
  );
}
