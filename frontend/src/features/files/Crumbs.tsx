import { t } from '@lingui/core/macro';
import { Link, useSearch } from '@tanstack/react-router';
import { translateExact } from '@/i18n/translate';
import { escapeInvisible } from '@/lib/escapeInvisible';
import classes from './Files.module.css';
import { steps } from './paths';
import { EXACT, goTo } from './search';
import type { Root } from './types';

/** Breadcrumbs from the root to this folder. */
export function Crumbs({ root, path }: { root: Root; path: string }) {
  const search = useSearch({ from: '/signed-in/files' });
  const ancestors = [{ name: translateExact(root.title), path: '' }, ...steps(path)];
  return (
    <nav aria-label={t`Folder`}>
      <ol className={classes.crumbs}>
        {ancestors.map((step) => (
          <li key={step.path}>
            <Link
              to="/files"
              search={goTo(search, root.name, step.path)}
              className={classes.crumb}
              activeOptions={EXACT}
              data-here={step.path === path}
              aria-current={step.path === path ? 'page' : undefined}
              preload={false}
            >
              {escapeInvisible(step.name)}
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  );
}
