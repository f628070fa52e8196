import { t } from '@lingui/core/macro';
import { useState } from 'react';
import { useMe } from '@/lib/useMe';
import { useNow } from '@/lib/useNow';
import { useLive } from '@/live/store';
import type { Announcement } from '@/live/types';
import classes from './AnnouncementBanners.module.css';
import { AnnouncementCard } from './AnnouncementCard';
import { atFirst, canDismiss, textKey, visibleAnnouncements } from './current';
import { useDismissed } from './dismissed';
import { MoreButton } from './MoreButton';

/** More would leave no room for the page. The most important come first. */
const MOST_SHOWN = 2;
const NONE: readonly Announcement[] = [];

/** The current announcements, shown on every page. */
export function AnnouncementBanners() {
  const all = useLive((s) => s.announcements) ?? NONE;
  const { username } = useMe();
  const [dismissed, dismiss] = useDismissed(username);
  const [open, setOpen] = useState(false);
  const shown = visibleAnnouncements(all, dismissed, useNow());
  const more = shown.length - MOST_SHOWN;
  const first = atFirst(shown, open, MOST_SHOWN);
  const isCritical = (one: Announcement): boolean => one.level === 'critical';
  const card = (one: Announcement) => (
    <AnnouncementCard
      key={one.id}
      announcement={one}
      onPutAway={canDismiss(one) ? () => dismiss(textKey(one)) : undefined}
    />
  );
  // Both are always there: what comes into them later is read out.
  return (
    <section aria-label={t`Announcements`} className={classes.banners}>
      <div aria-live="assertive">{first.filter(isCritical).map(card)}</div>
      <div aria-live="polite">{first.filter((one) => !isCritical(one)).map(card)}</div>
      <MoreButton more={more} open={open} onTurn={() => setOpen(!open)} />
    </section>
  );
}
