import { t } from '@lingui/core/macro';
import { useMe } from '@/features/account/useMe';
import { useNow } from '@/lib/useNow';
import { useLive } from '@/live/store';
import classes from './AnnouncementBanners.module.css';
import { AnnouncementCard } from './AnnouncementCard';
import { type Announcement, canBePutAway, textKey, toShow } from './current';
import { usePutAway } from './putAway';

const NONE: readonly Announcement[] = [];

/** What the administrators tell everyone, on each page, as long as it holds. */
export function AnnouncementBanners() {
  const all = useLive((s) => s.announcements) ?? NONE;
  const { username } = useMe();
  const [known, putAway] = usePutAway(username);
  const shown = toShow(all, known, useNow());
  const isCritical = (one: Announcement): boolean => one.level === 'critical';
  const card = (one: Announcement) => (
    <AnnouncementCard
      key={one.id}
      announcement={one}
      onPutAway={canBePutAway(one) ? () => putAway(textKey(one)) : undefined}
    />
  );
  // Both are always there: what comes into them later is read out.
  return (
    <section aria-label={t`Announcements`} className={classes.banners}>
      <div aria-live="assertive">{shown.filter(isCritical).map(card)}</div>
      <div aria-live="polite">{shown.filter((one) => !isCritical(one)).map(card)}</div>
    </section>
  );
}
