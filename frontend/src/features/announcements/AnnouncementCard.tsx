import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { CloseButton, VisuallyHidden } from '@mantine/core';
import type { Announcement } from '@/live/types';
import { Icon } from '@/ui/icons';
import classes from './AnnouncementCard.module.css';
import { splitLinks } from './current';

interface Props {
  announcement: Pick<Announcement, 'level' | 'title' | 'text'>;
  /** absent if it cannot be dismissed */
  onPutAway?: (() => void) | undefined;
}

const LEVEL_LABELS = {
  info: t`Announcement`,
  warning: t`Warning`,
  critical: t`Important`,
} as const;

/** An announcement as displayed to all users, and in the form's preview. */
export function AnnouncementCard({ announcement, onPutAway }: Props) {
  const { level, title, text } = announcement;
  const word = LEVEL_LABELS[level];
  return (
    <div className={`${classes.card} ${classes[level]}`}>
      <Icon name={level === 'info' ? 'chip' : 'alert'} />
      <div className={classes.body}>
        <strong>
          <VisuallyHidden component="span">
            <Trans>{word}:</Trans>{' '}
          </VisuallyHidden>
          {title}
        </strong>
        {text && <AnnouncementText text={text} />}
      </div>
      {onPutAway && (
        <CloseButton
          size="sm"
          variant="transparent"
          c="inherit"
          aria-label={t`Close the announcement ${title}`}
          onClick={onPutAway}
        />
      )}
    </div>
  );
}

export function AnnouncementText({ text }: { text: string }) {
  return (
    <p className={classes.text}>
      {splitLinks(text).map((piece, index) =>
        piece.href === undefined ? (
          piece.text
        ) : (
          <a
            // biome-ignore lint/suspicious/noArrayIndexKey: a text's pieces have no other name
            key={index}
            href={piece.href}
            target="_blank"
            rel="noreferrer"
          >
            {piece.text}
          </a>
        ),
      )}
    </p>
  );
}
