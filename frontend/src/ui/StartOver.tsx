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
  /** shows the form as it is for whoever begins */
  onStartOver: () => void;
}

/** Above a form that is filled in with what was left in it: says so, and offers to begin anew. */
export function AsYouLeftIt(props: Props) {
  const { draft } = props;
  if (draft.since !== 'before') return null;
  return (
    <Notice tone="info">
      <Trans>
        This form is as you left it. <Begin {...props} />
      </Trans>
    </Notice>
  );
}

/** The same at the foot of a form that was filled in just now. */
export function StartOver(props: Props) {
  const { draft } = props;
  if (draft.since !== 'now') return null;
  return <Begin {...props} />;
}

function Begin({ draft, onStartOver }: Props) {
  const [asking, setAsking] = useState(false);
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
        onClick={() => setAsking(true)}
      >
        <Trans>Start over</Trans>
      </Button>
      <ConfirmDialog
        title={t`Start over?`}
        opened={asking}
        onClose={() => setAsking(false)}
        act={begin}
        button={t`Start over`}
        keep={t`Keep it`}
      >
        <Text size="sm">
          <Trans>What you have filled in here is forgotten.</Trans>
        </Text>
      </ConfirmDialog>
    </>
  );
}

/** Shows a form, and anew whenever one starts over. */
export function Anew({ children }: { children: (startOver: () => void) => ReactNode }) {
  const [round, setRound] = useState(0);
  return <Fragment key={round}>{children(() => setRound(round + 1))}</Fragment>;
}
