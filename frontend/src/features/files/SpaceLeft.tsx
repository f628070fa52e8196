import { t } from '@lingui/core/macro';
import { translateExact } from '@/i18n/translate';
import { UsedBar } from '@/ui/UsedBar';
import classes from './SpaceLeft.module.css';
import { type Measure, roomOf } from './sizes';
import type { Space } from './types';

/** The storage of a root: the user's quota, and the shared disk. Empty if nothing is known. */
export function SpaceLeft({ title, space }: { title: string; space: Space }) {
  const room = roomOf(space);
  if (!room) return null;
  const place = translateExact(title);
  return (
    <div className={classes.room}>
      {room.quotaText && <p className={classes.text}>{room.quotaText}</p>}
      {room.quota && <Bar label={t`Your quota in ${place}`} measure={room.quota} />}
      {room.disk && <p className={classes.text}>{room.disk.text}</p>}
      {room.disk && !room.quota && <Bar label={t`The disk of ${place}`} measure={room.disk} />}
    </div>
  );
}

function Bar({ label, measure }: { label: string; measure: Measure }) {
  return <UsedBar used={measure.percent} total={100} level={measure.level} label={label} />;
}
