import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Checkbox, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { TABLE_SHORTCUTS } from '@/features/jobs/tableKeys';
import { areSingleKeysOn, setSingleKeys } from '@/lib/singleKeys';
import { DialogShell } from '@/ui/ConfirmDialog';
import { showDialog } from './dialogs';
import { SHORTCUTS } from './keys';
import { PALETTE_KEYS } from './paletteKeys';
import classes from './Shortcuts.module.css';

/** The list of shortcuts, with a switch for single keys. */
export function Shortcuts({ opened }: { opened: boolean }) {
  return (
    <DialogShell title={t`Keyboard shortcuts`} opened={opened} onClose={() => showDialog(null)}>
      <Inside />
    </DialogShell>
  );
}

function Inside() {
  const [on, setOn] = useState(areSingleKeysOn);
  const [forgets, setForgets] = useState(false);
  const change = (count: boolean): void => {
    setForgets(!setSingleKeys(count));
    setOn(areSingleKeysOn());
  };
  return (
    <Stack>
      <dl className={classes.keys}>
        <div className={classes.row}>
          <dt>
            <Trans>Find any page, session, job, file or action</Trans>
          </dt>
          <dd>
            <kbd>{PALETTE_KEYS}</kbd>
          </dd>
        </div>
        {[...SHORTCUTS, ...TABLE_SHORTCUTS].map(({ keys, title }) => (
          <div key={title} className={classes.row} data-off={!on}>
            <dt>{title}</dt>
            <dd>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <Text size="sm" c="dimmed">
        <Trans>
          Press the two keys one after the other. Shortcuts don't work while you type in a field.
        </Trans>
      </Text>
      <Checkbox
        label={t`Single-key shortcuts`}
        description={t`Turn them off if you use speech input or press them by accident.`}
        checked={on}
        onChange={(event) => change(event.currentTarget.checked)}
      />
      {forgets && (
        <Text size="sm" role="alert">
          <Trans>Your browser doesn't store data for this site, so this can't be saved.</Trans>
        </Text>
      )}
    </Stack>
  );
}
