import { Link } from '@tanstack/react-router';
import { seesAdmin } from '@/features/account/roles';
import { UserMenu } from '@/features/account/UserMenu';
import { useMe } from '@/features/account/useMe';
import { PaletteButton } from '@/features/palette/PaletteButton';
import { useLive } from '@/live/store';
import { Logo } from '@/ui/Logo';
import linkClasses from '@/ui/NavLink.module.css';
import classes from './MemberLayout.module.css';

const link = `${linkClasses.link} ${classes.link}`;

export function Header() {
  const me = useMe();
  const cluster = useLive((s) => s.cluster?.name);
  return (
    <header className={classes.header}>
      <div className={classes.bar}>
        <Link to="/" className={classes.brand}>
          <Logo size={28} />
          <span className={classes.product}>Data Scientist Portal</span>
        </Link>
        {cluster && <span className={classes.cluster}>{cluster}</span>}
        <nav className={classes.nav} aria-label="Main">
          <Link to="/" className={link} activeOptions={{ exact: true }}>
            Home
          </Link>
          <Link to="/jobs" className={link}>
            Jobs
          </Link>
          <Link to="/files" className={link}>
            Files
          </Link>
          <Link to="/cluster" className={link}>
            Cluster
          </Link>
          {seesAdmin(me) && (
            <Link to="/admin" className={link}>
              Admin
            </Link>
          )}
        </nav>
        <PaletteButton />
        <UserMenu />
      </div>
    </header>
  );
}
