import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Anchor, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { Ssh } from '@/api/types';
import { TokenDialog } from '@/features/tokens/TokenDialog';
import { tokensQuery } from '@/features/tokens/tokens';
import { translateExact } from '@/i18n/translate';
import { CopyIcon } from '@/ui/CopyButton';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { TryAgain } from '@/ui/TryAgain';
import { sshQuery } from './queries';
import classes from './SshSetup.module.css';
import { MOVE_PROGRAM, PROGRAM_PATH, SAVE_TOKEN } from './ssh';

/** The steps to connect to a session by SSH: once per computer, then for this session. */
export function SshSetup({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(sshQuery(id));
  if (error && data === undefined)
    return <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />;
  if (data === undefined) return <p className={classes.note}>{t`Asking the session's node…`}</p>;
  if (data.problem !== null) return <Notice tone="warning">{translateExact(data.problem)}</Notice>;
  return (
    <div className={classes.setup}>
      <ComputerSetup ssh={data} />
      <h3>
        <Trans>Connect to this session</Trans>
      </h3>
      <Command text={data.command} label={t`Copy the command`} />
      {data.editor_link !== null && (
        <Button component="a" variant="default" w="fit-content" href={data.editor_link}>
          <Trans>Open in VS Code</Trans>
        </Button>
      )}
    </div>
  );
}

/** The steps that are done once on each computer. */
function ComputerSetup({ ssh }: { ssh: Ssh }) {
  return (
    <>
      <h3>
        <Trans>Once on your computer</Trans>
      </h3>
      <ol className={classes.steps}>
        <li>
          <Anchor href={PROGRAM_PATH} download>
            <Trans>Download the program that connects ssh to the portal</Trans>
          </Anchor>
          <Note>
            <Trans>It needs Python 3.8 or later, and nothing else. In a terminal:</Trans>
          </Note>
          <Command text={MOVE_PROGRAM} label={t`Copy the commands`} />
        </li>
        <li>
          <TokenButton />
          <Note>
            <Trans>The token replaces a password. Revoke it to end its connections.</Trans>
          </Note>
        </li>
        <li>
          <Trans>Add this to ~/.ssh/config. It applies to all of your sessions:</Trans>
          <Command text={ssh.config} label={t`Copy the configuration`} />
        </li>
      </ol>
    </>
  );
}

function Note({ children }: { children: ReactNode }) {
  return <p className={classes.note}>{children}</p>;
}

function Command({ text, label }: { text: string; label: string }) {
  return (
    <div className={classes.command}>
      <pre>{text}</pre>
      <CopyIcon text={text} label={label} />
    </div>
  );
}

/** Creates an access token for SSH alone. */
function TokenButton() {
  const [creating, setCreating] = useState(false);
  const { data, error } = useQuery(tokensQuery);
  return (
    <>
      <Button
        variant="default"
        leftSection={<Icon name="plus" />}
        disabled={data === undefined}
        onClick={() => setCreating(true)}
      >
        <Trans>Create an access token for SSH…</Trans>
      </Button>
      {error && <Notice tone="error">{errorMessage(error)}</Notice>}
      {data && (
        <TokenDialog
          opened={creating}
          maxDays={data.max_days}
          onClose={() => setCreating(false)}
          purpose={{ name: 'ssh', scopes: ['ssh'], command: SAVE_TOKEN }}
        />
      )}
    </>
  );
}
