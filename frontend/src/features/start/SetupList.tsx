import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { ActionIcon, Menu, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { Setup } from '@/api/types';
import { joinSentences } from '@/i18n/lists';
import { translate, translateExact } from '@/i18n/translate';
import { resourceTexts } from '@/lib/resourceLabels';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import classes from './StartPage.module.css';
import { deleteSetup, renameSetup, setupsQuery } from './setups';
import type { SetupValues } from './useStartForm';

/** The user's saved setups; a click fills in the form. Nothing if there are none. */
export function SetupList({ onUse }: { onUse: (setup: SetupValues) => void }) {
  const { data, error } = useQuery(setupsQuery);
  if (error && !data)
    return (
      <Notice tone="warning">
        {joinSentences([t`Your saved setups can't be shown.`, errorMessage(error)])}
      </Notice>
    );
  if (data === undefined || data.length === 0) return null;
  return (
    <section aria-labelledby="your-setups">
      <h2 className={classes.heading} id="your-setups">
        <Trans>Your setups</Trans>
      </h2>
      <ul className={classes.setups}>
        {data.map((setup) => (
          <SetupItem key={setup.id} setup={setup} onUse={onUse} />
        ))}
      </ul>
    </section>
  );
}

function SetupItem({ setup, onUse }: { setup: Setup; onUse: (setup: SetupValues) => void }) {
  const [dialog, setDialog] = useState<'rename' | 'delete' | null>(null);
  const { name, resources, problem } = setup;
  const title = translateExact(setup.environment_title);
  return (
    <li className={classes.setup}>
      <button type="button" onClick={() => onUse(setup)}>
        <span className={classes.setupName}>{name}</span>
        <span className={classes.quiet}>{[title, ...resourceTexts(resources)].join(' · ')}</span>
        {problem && <span className={classes.why}>{translate(problem)}</span>}
      </button>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={t`Rename or delete ${name}`}>
            <Icon name="down" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setDialog('rename')}>
            <Trans>Rename…</Trans>
          </Menu.Item>
          <Menu.Item onClick={() => setDialog('delete')}>
            <Trans>Delete…</Trans>
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <RenameDialog setup={setup} opened={dialog === 'rename'} onClose={() => setDialog(null)} />
      <ConfirmDialog
        title={t`Delete the setup “${name}”?`}
        opened={dialog === 'delete'}
        onClose={() => setDialog(null)}
        act={() => deleteSetup(setup.id)}
        button={t`Delete`}
        danger
      >
        <Text size="sm">
          <Trans>Sessions that were started with it are not affected.</Trans>
        </Text>
      </ConfirmDialog>
    </li>
  );
}

interface RenameProps {
  setup: Setup;
  opened: boolean;
  onClose: () => void;
}

function RenameDialog({ setup, opened, onClose }: RenameProps) {
  const [name, setName] = useState(setup.name);
  return (
    <ConfirmDialog
      title={t`Rename a setup`}
      opened={opened}
      onClose={onClose}
      act={() => renameSetup(setup.id, name.trim())}
      button={t`Rename`}
      disabled={name.trim() === ''}
    >
      <SetupNameField value={name} onChange={setName} />
    </ConfirmDialog>
  );
}

/** The portal's limit. */
export const MAX_SETUP_NAME = 60;

export function SetupNameField(props: { value: string; onChange: (name: string) => void }) {
  return (
    <TextInput
      label={t`Name of the setup`}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
      maxLength={MAX_SETUP_NAME}
      data-autofocus
      autoComplete="off"
    />
  );
}
