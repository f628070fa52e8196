import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { PaletteButton } from '@/features/palette/PaletteButton';
import { seesAdmin } from '@/lib/roles';
import { siteQuery } from '@/lib/site';
import { useMe } from '@/lib/useMe';
import { useLive } from '@/live/store';
import { Logo } from '@/ui/Logo';
import linkClasses from '@/ui/NavLink.module.css';
import classes from './SignedInLayout.module.css';
import { UserMenu } from './UserMenu';

const link = `${linkClasses.link} ${classes.link}`;

export function Header() {
  const me = useMe();
  const { data: site } = useQuery(siteQuery);
  const cluster = useLive((s) => s.cluster?.name);
  return (
    <header className={classes.header}>
      <div className={classes.bar}>
        <Link to="/" className={classes.brand}>
          <Logo size={28} />
          <span className={classes.product}>Data Scientist Portal</span>
        </Link>
        {(site?.tagline || cluster) && (
          <span className={classes.cluster}>{site?.tagline ?? cluster}</span>
        )}
        <nav className={classes.nav} aria-label={t`Main`}>
          <Link to="/" className={link} activeOptions={{ exact: true }}>
            <Trans>Home</Trans>
          </Link>
          <Link to="/jobs" className={link}>
            <Trans>Jobs</Trans>
          </Link>
          <Link to="/files" className={link}>
            <Trans>Files</Trans>
          </Link>
          <Link to="/cluster" className={link}>
            <Trans>Cluster</Trans>
          </Link>
          {seesAdmin(me) && (
            <Link to="/admin" className={link}>
              <Trans>Admin</Trans>
            </Link>
          )}
        </nav>
        <PaletteButton />
        <UserMenu />
      </div>
    </header>
  );
}
