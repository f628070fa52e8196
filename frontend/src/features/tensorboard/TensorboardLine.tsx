import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import type { Tensorboard } from '@/api/types';
import { translate } from '@/i18n/translate';
import type { Tone } from '@/ui/StateChip';
import { StateChip } from '@/ui/StateChip';
import { useAction } from '@/ui/useAction';
import { ShareButton } from './ShareButton';
import type { Parent } from './sharing';
import classes from './TensorboardLine.module.css';

export const STATE_LABELS: Record<Tensorboard['state'], [Tone, string]> = {
  stopped: ['quiet', t`TensorBoard stopped`],
  queued: ['waiting', t`TensorBoard is queued`],
  starting: ['busy', t`TensorBoard starting`],
  running: ['good', t`TensorBoard running`],
  failed: ['bad', t`TensorBoard failed`],
};

interface Props {
  board: Tensorboard | null;
  onStop: () => Promise<void>;
  /** whose it is, where it can be shared from here */
  share?: Parent & { name: string };
  /** whether one that has stopped is worth a line */
  stopped?: boolean;
}

/** How a TensorBoard stands, if there is one. */
export function TensorboardLine({ board, onStop, share, stopped = false }: Props) {
  const [busy, act] = useAction();
  if (board === null || (board.state === 'stopped' && !stopped)) return null;
  const [tone, label] = STATE_LABELS[board.state];
  const ends = board.state !== 'failed' && board.state !== 'stopped';
  return (
    <div className={classes.board}>
      <StateChip tone={tone} label={label} />
      {board.reason && <span>{translate(board.reason)}</span>}
      {share && <ShareButton parent={share} name={share.name} compact />}
      {ends && (
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          loading={busy}
          onClick={() => void act(onStop)}
        >
          <Trans>Stop TensorBoard</Trans>
        </Button>
      )}
    </div>
  );
}
