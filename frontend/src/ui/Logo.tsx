import { useQuery } from '@tanstack/react-query';
import { SITE_LOGO, siteQuery } from '@/lib/site';
import classes from './Logo.module.css';

/** The site's logo if it has one, else the portal's: a falling loss curve that ends in a result. */
export function Logo({ size = 32 }: { size?: number }) {
  const { data, error } = useQuery(siteQuery);
  // Until the site's logo is known, its place stays empty: another one must not flash up.
  if (!data && !error)
    return <span className={classes.place} style={{ width: size, height: size }} />;
  if (data?.logo) return <img className={classes.site} src={SITE_LOGO} height={size} alt="" />;
  return <img src="/favicon.svg" width={size} height={size} alt="" />;
}
