import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import type { SessionRequest } from '@/api/types';
import { copyText } from '@/lib/copy';
import { navigation } from '@/lib/navigation';
import { toStartLink } from '@/lib/startLink';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { Icon } from '@/ui/icons';
import { SetupNameField } from './SetupList';
import classes from './StartPage.module.css';
import { saveSetup } from './setups';

interface Props {
  request: () => SessionRequest;
  /** the app with which the session opens, for the link */
  app: string | undefined;
  /** the default name of the setup */
  title: string;
  disabled: boolean;
}

/** Buttons that save the form as a setup and that copy a link to the filled-in form. */
export function SaveSetup({ request, app, title, disabled }: Props) {
  const [asking, setAsking] = useState(false);
  const [name, setName] = useState('');

  const save = async (): Promise<void> => {
    const { environment, resources } = request();
    const saved = await saveSetup({ name: name.trim(), environment, resources: resources ?? {} });
    notifications.show({
      message: t`“${{ name: saved.name }}” is saved. It is listed here and on Home.`,
    });
  };

  const copyLink = async (): Promise<void> => {
    const { href } = navigation().router.buildLocation({
      to: '/start',
      search: toStartLink({ ...request(), app }),
    });
    const link = `${window.location.origin}${href}`;
    const copied = await copyText(link);
    notifications.show({
      message: copied
        ? t`The link is copied. It opens this form with these values filled in; nothing starts automatically.`
        : t`Copy this link: ${link}`,
      autoClose: copied ? 6000 : false,
    });
  };

  return (
    <div className={classes.saveActions}>
      <Button
        variant="subtle"
        size="compact-sm"
        leftSection={<Icon name="save" size={16} />}
        disabled={disabled}
        onClick={() => {
          setName(title);
          setAsking(true);
        }}
      >
        <Trans>Save this setup</Trans>
      </Button>
      <Button
        variant="subtle"
        size="compact-sm"
        leftSection={<Icon name="link" size={16} />}
        disabled={disabled}
        onClick={() => void copyLink()}
      >
        <Trans>Copy link</Trans>
      </Button>
      <ConfirmDialog
        title={t`Save this setup`}
        opened={asking}
        onClose={() => setAsking(false)}
        act={save}
        button={t`Save`}
        disabled={name.trim() === ''}
      >
        <SetupNameField value={name} onChange={setName} />
        <Text size="sm" c="dimmed">
          <Trans>
            The environment and the resources are saved. One click on Home starts a session with
            them.
          </Trans>
        </Text>
      </ConfirmDialog>
    </div>
  );
}
