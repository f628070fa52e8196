import { useEffect, useState } from 'react';
import { AnnouncementBanners } from '@/features/announcements/AnnouncementBanners';
import { useLive } from '@/live/store';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import classes from './MemberLayout.module.css';

/** A connection that is back within this time isn't worth a word. */
const GRACE_MS = 1500;

function useLostForAWhile(): boolean {
  const lost = useLive((s) => s.link === 'lost');
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setShown(lost), lost ? GRACE_MS : 0);
    return () => window.clearTimeout(timer);
  }, [lost]);
  return lost && shown;
}

/** What holds for the whole page: a lost connection, a silent Slurm, announcements, the cluster's
 * notice. */
export function Banners() {
  const notice = useLive((s) => s.cluster?.notice ?? null);
  const staleSince = useLive((s) => s.cluster?.stale_since ?? null);
  const lost = useLostForAWhile();
  return (
    <>
      <div role="status" className={classes.status}>
        {lost && (
          <Notice tone="warning">
            Connection lost, trying again… What you see is the last known state; your sessions go
            on.
          </Notice>
        )}
      </div>
      <div role="status" className={classes.status}>
        {staleSince && !lost && (
          <Notice tone="warning">
            Slurm has not answered since <Time at={staleSince} />. What you see is the last known
            state; running sessions go on.
          </Notice>
        )}
      </div>
      <AnnouncementBanners />
      {notice && (
        <div className={classes.notice}>
          <Notice tone="info">{notice}</Notice>
        </div>
      )}
    </>
  );
}
