import { Link } from '@tanstack/react-router';
import classes from './AdminPage.module.css';

/** The administrators' pages. */
export function AdminNav() {
  return (
    <nav className={classes.nav} aria-label="Administration">
      <Link to="/admin" className={classes.link} activeOptions={{ exact: true }}>
        Sessions
      </Link>
      <Link to="/admin/images" className={classes.link}>
        Images
      </Link>
      <Link to="/admin/catalog" className={classes.link}>
        Catalog
      </Link>
    </nav>
  );
}
