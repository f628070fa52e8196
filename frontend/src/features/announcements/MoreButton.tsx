import { plural, t } from '@lingui/core/macro';
import { Button } from '@mantine/core';
import { Icon } from '@/ui/icons';

interface Props {
  /** the number of announcements hidden while it is closed */
  more: number;
  open: boolean;
  onToggle: () => void;
}

/** The button that shows the announcements hidden at first. */
export function MoreButton({ more, open, onToggle }: Props) {
  if (more <= 0) return null;
  return (
    <Button
      size="compact-sm"
      variant="default"
      mb="0.6rem"
      aria-expanded={open}
      leftSection={<Icon name={open ? 'up' : 'down'} size={14} />}
      onClick={onToggle}
    >
      {open
        ? t`Show fewer announcements`
        : plural(more, { one: '# more announcement', other: '# more announcements' })}
    </Button>
  );
}
