import { Trans } from '@lingui/react/macro';
import { AnnouncementBanners } from '@/features/announcements/AnnouncementBanners';
import { TimeShort } from '@/features/sessions/TimeShort';
import { useLive } from '@/live/store';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { ConnectionLost, useConnectionLost, useRefetchOnReconnect } from './ConnectionLost';
import classes from './SignedInLayout.module.css';

/** Banners about the whole portal: a lost connection, an unavailable Slurm, announcements, the
 * cluster's notice. */
export function Banners() {
  const notice = useLive((s) => s.cluster?.notice ?? null);
  const staleSince = useLive((s) => s.cluster?.stale_since ?? null);
  const lost = useConnectionLost();
  useRefetchOnReconnect();
  return (
    <>
      <div role="status" className={classes.status}>
        {lost && <ConnectionLost />}
      </div>
      <div role="status" className={classes.status}>
        {staleSince && !lost && (
          <Notice tone="warning">
            <Trans>
              Slurm has not responded since <Time at={staleSince} />. This is the last known state;
              running sessions keep running.
            </Trans>
          </Notice>
        )}
      </div>
      <TimeShort />
      <AnnouncementBanners>
        {notice && (
          <div className={classes.notice}>
            <Notice tone="info">{notice}</Notice>
          </div>
        )}
      </AnnouncementBanners>
    </>
  );
}
