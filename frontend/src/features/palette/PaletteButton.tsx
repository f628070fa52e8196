import { t } from '@lingui/core/macro';
import { UnstyledButton } from '@mantine/core';
import { Icon } from '@/ui/icons';
import { showDialog } from './dialogs';
import classes from './PaletteButton.module.css';
import { PALETTE_KEYS } from './paletteKeys';

/** The button that opens the palette, labeled with its shortcut. */
export function PaletteButton() {
  return (
    <UnstyledButton
      className={classes.button}
      aria-label={t`Find anything: ${PALETTE_KEYS}`}
      title={t`Find a page, a session, a job, a file or an action`}
      onClick={() => showDialog('palette')}
    >
      <Icon name="search" />
      <kbd className={classes.keys}>{PALETTE_KEYS}</kbd>
    </UnstyledButton>
  );
}
