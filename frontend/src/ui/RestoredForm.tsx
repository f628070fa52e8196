import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Text } from '@mantine/core';
import { Fragment, type ReactNode, useState } from 'react';
import type { FormDraft } from '@/lib/useFormDraft';
import { ConfirmDialog } from './ConfirmDialog';
import { focusPageIfLost } from './focus';
import { Notice } from './Notice';

interface Props {
  draft: FormDraft;
  /** resets the form */
  onStartOver: () => void;
}

/** A notice above a form that was restored from a draft, with a button that resets it. */
export function RestoredNotice(props: Props) {
  const { draft } = props;
  if (draft.since !== 'before') return null;
  return (
    <Notice tone="info">
      <Trans>
        Your earlier entries are restored. <StartOverButton {...props} />
      </Trans>
    </Notice>
  );
}

/** The same button below a form with unsaved entries. */
export function StartOver(props: Props) {
  const { draft } = props;
  if (draft.since !== 'now') return null;
  return <StartOverButton {...props} />;
}

function StartOverButton({ draft, onStartOver }: Props) {
  const [confirming, setConfirming] = useState(false);
  const begin = (): Promise<void> => {
    draft.drop();
    onStartOver();
    focusPageIfLost();
    return Promise.resolve();
  };
  return (
    <>
      <Button
        variant="subtle"
        size="compact-sm"
        style={{ justifySelf: 'center' }}
        onClick={() => setConfirming(true)}
      >
        <Trans>Discard entries</Trans>
      </Button>
      <ConfirmDialog
        title={t`Discard your entries?`}
        opened={confirming}
        onClose={() => setConfirming(false)}
        act={begin}
        button={t`Discard entries`}
        keep={t`Keep my entries`}
      >
        <Text size="sm">
          <Trans>Your entries in this form are discarded.</Trans>
        </Text>
      </ConfirmDialog>
    </>
  );
}

/** Renders a form, and remounts it whenever the user starts over. */
export function RestartableForm({ children }: { children: (startOver: () => void) => ReactNode }) {
  const [round, setRound] = useState(0);
  return <Fragment key={round}>{children(() => setRound(round + 1))}</Fragment>;
}
