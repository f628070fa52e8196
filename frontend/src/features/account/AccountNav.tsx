import { t } from '@lingui/core/macro';
import { Link } from '@tanstack/react-router';
import linkClasses from '@/ui/NavLink.module.css';
import classes from './AccountNav.module.css';
import { SECTIONS, type Section } from './sections';

/** Navigation between the account's sections: beside them, or above them on a phone. */
export function AccountNav({ here }: { here: Section }) {
  return (
    <nav aria-label={t`Your account`}>
      <ul className={classes.list}>
        {SECTIONS.map(({ slug, label }) => (
          <li key={slug}>
            <Link
              to="/account/$section"
              params={{ section: slug }}
              className={`${linkClasses.link} ${classes.link}`}
              aria-current={slug === here.slug ? 'page' : undefined}
            >
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
