import { t } from '@lingui/core/macro';
import { type ReactNode, useState } from 'react';
import { useMe } from '@/lib/useMe';
import { useNow } from '@/lib/useNow';
import { useLive } from '@/live/store';
import type { Announcement } from '@/live/types';
import classes from './AnnouncementBanners.module.css';
import { AnnouncementCard } from './AnnouncementCard';
import { canDismiss, textKey, visibleAnnouncements, withinLimit } from './current';
import { useDismissed } from './dismissed';
import { MoreButton } from './MoreButton';

/** More would leave no room for the page. The most important come first. */
const MAX_SHOWN = 2;
const NONE: readonly Announcement[] = [];

/** The current announcements, shown on every page; `children` follow them. */
export function AnnouncementBanners({ children }: { children?: ReactNode }) {
  const all = useLive((s) => s.announcements) ?? NONE;
  const { username } = useMe();
  const [dismissed, dismiss] = useDismissed(username);
  const [open, setOpen] = useState(false);
  const shown = visibleAnnouncements(all, dismissed, useNow());
  const more = shown.length - MAX_SHOWN;
  const first = withinLimit(shown, open, MAX_SHOWN);
  const isCritical = (announcement: Announcement): boolean => announcement.level === 'critical';
  const card = (announcement: Announcement) => (
    <AnnouncementCard
      key={announcement.id}
      announcement={announcement}
      onPutAway={canDismiss(announcement) ? () => dismiss(textKey(announcement)) : undefined}
    />
  );
  // Both live regions are always rendered, so that screen readers read what is added later.
  return (
    <section aria-label={t`Announcements`} className={classes.banners}>
      <div aria-live="assertive">{first.filter(isCritical).map(card)}</div>
      <div aria-live="polite">
        {first.filter((announcement) => !isCritical(announcement)).map(card)}
      </div>
      <MoreButton more={more} open={open} onToggle={() => setOpen(!open)} />
      {children}
    </section>
  );
}
