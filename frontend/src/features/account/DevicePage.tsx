import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, NativeSelect, Paper, Text, TextInput } from '@mantine/core';
import { useRouterState } from '@tanstack/react-router';
import { useState } from 'react';
import type { WaitingDevice } from '@/api/types';
import { lifetimes, SCOPES, usualLifetime } from '@/features/tokens/tokens';
import classes from '@/ui/AccountSection.module.css';
import { PageTitle } from '@/ui/PageTitle';
import { RecordForm } from '@/ui/RecordForm';
import { Time } from '@/ui/Time';
import { useAction } from '@/ui/useAction';
import { useRecordForm } from '@/ui/useRecordForm';
import { DeviceWarning } from './DeviceWarning';
import { approveDevice, codeInFragment, denyDevice, findDevice } from './devices';

/** A device that waits, with the code that leads to it. */
interface Waiting {
  code: string;
  device: WaitingDevice;
}

type Decision = 'approved' | 'denied';

/** The page on which a user confirms the login of the command line on a device. */
export function DevicePage() {
  const [waiting, setWaiting] = useState<Waiting | null>(null);
  const [decision, setDecision] = useState<Decision | null>(null);
  return (
    <>
      <div className={classes.title}>
        <PageTitle tab={t`Log in on a device`}>
          <Trans>Log in on a device</Trans>
        </PageTitle>
      </div>
      <Paper className={classes.section}>
        {decision !== null ? (
          <Decided decision={decision} />
        ) : waiting === null ? (
          <CodeStep onFound={setWaiting} />
        ) : (
          <DecisionStep {...waiting} onDecided={setDecision} />
        )}
      </Paper>
    </>
  );
}

function CodeStep({ onFound }: { onFound: (waiting: Waiting) => void }) {
  const hash = useRouterState({ select: ({ location }) => location.hash });
  const form = useRecordForm({
    initial: () => ({ code: codeInFragment(hash) }),
    fields: ['user_code'],
    check: ({ code }) => (code.trim() === '' ? { user_code: t`Enter the code.` } : {}),
    save: async ({ code }) => ({ code, device: await findDevice(code.trim()) }),
    saved: onFound,
  });
  return (
    <RecordForm form={form} button={<Trans>Continue</Trans>}>
      <TextInput
        className={classes.narrow}
        label={t`Code`}
        description={t`The code that the program on your device shows.`}
        maxLength={20}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
        {...form.text('code', 'user_code')}
      />
    </RecordForm>
  );
}

function DecisionStep({ code, device, onDecided }: Waiting & { onDecided: (d: Decision) => void }) {
  const [denying, runDenial] = useAction();
  const form = useRecordForm({
    initial: () => ({ days: usualLifetime(device.max_days) }),
    fields: ['expires_in_days'],
    save: ({ days }) => approveDevice(code.trim(), Number(days)),
    saved: () => onDecided('approved'),
  });
  const deny = async (): Promise<void> => {
    if (await runDenial(() => denyDevice(code.trim()))) onDecided('denied');
  };
  const buttons = (
    <Group justify="flex-end">
      <Button variant="default" loading={denying} onClick={() => void deny()}>
        <Trans>Refuse</Trans>
      </Button>
      <Button type="submit" loading={form.busy} disabled={denying}>
        <Trans>Confirm the login</Trans>
      </Button>
    </Group>
  );
  return (
    <RecordForm form={form} foot={buttons}>
      <DeviceWarning sameNetwork={device.same_network} />
      <Facts code={code} device={device} />
      <NativeSelect
        className={classes.narrow}
        label={t`Expires after`}
        data={lifetimes(device.max_days)}
        {...form.text('days', 'expires_in_days')}
      />
    </RecordForm>
  );
}

function Facts({ code, device }: Waiting) {
  return (
    <dl className={classes.facts}>
      <div>
        <dt>{t`Device`}</dt>
        <dd data-testid="device">{device.device}</dd>
      </div>
      <div>
        <dt>{t`Code`}</dt>
        <dd>{code.toUpperCase()}</dd>
      </div>
      <div>
        <dt>{t`Address`}</dt>
        <dd>{device.ip}</dd>
      </div>
      <div>
        <dt>{t`Started`}</dt>
        <dd>
          <Time at={device.created_at} relative />
        </dd>
      </div>
      <div>
        <dt>
          <Trans context="what a token">Permissions</Trans>
        </dt>
        <dd>
          {device.scopes.map((scope) => (
            <div key={scope}>{SCOPES[scope].description}</div>
          ))}
        </dd>
      </div>
    </dl>
  );
}

function Decided({ decision }: { decision: Decision }) {
  return (
    <div role="status">
      <Text>
        {decision === 'approved' ? (
          <Trans>
            The device is logged in. You can close this page. To log the device out, revoke its
            token under Your account.
          </Trans>
        ) : (
          <Trans>The login was refused. The device has no access.</Trans>
        )}
      </Text>
    </div>
  );
}
