import { t } from '@lingui/core/macro';
import { Progress } from '@mantine/core';
import { translateExact } from '@/i18n/translate';
import classes from './SpaceLeft.module.css';
import { type Measure, roomOf } from './sizes';
import type { Space } from './types';

const COLORS: Record<Measure['level'], string> = {
  fine: 'tide',
  tight: 'yellow.8',
  full: 'red.8',
};

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
  return (
    <Progress value={measure.percent} color={COLORS[measure.level]} size="sm" aria-label={label} />
  );
}
