import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import type { Tensorboard } from '@/api/types';
import { translate } from '@/i18n/translate';
import { StateChip } from '@/ui/StateChip';
import { STATE_TONES } from '@/ui/tones';
import { useAction } from '@/ui/useAction';
import { ShareButton } from './ShareButton';
import type { Parent } from './sharing';
import classes from './TensorboardLine.module.css';

export const STATE_LABELS: Record<Tensorboard['state'], string> = {
  stopped: t`TensorBoard stopped`,
  queued: t`TensorBoard is queued`,
  starting: t`TensorBoard starting`,
  running: t`TensorBoard running`,
  failed: t`TensorBoard failed`,
};

interface Props {
  board: Tensorboard | null;
  onStop: () => Promise<void>;
  /** its session or job, if it can be shared here */
  share?: Parent & { name: string };
  /** whether to show a stopped one */
  showStopped?: boolean;
  /** whether its session has ended, so that it runs in a job of its own */
  inOwnJob?: boolean;
}

/** A TensorBoard's state, if there is one. */
export function TensorboardLine({
  board,
  onStop,
  share,
  showStopped = false,
  inOwnJob = false,
}: Props) {
  const [busy, run] = useAction();
  if (board === null || (board.state === 'stopped' && !showStopped)) return null;
  const ends = board.state !== 'failed' && board.state !== 'stopped';
  return (
    <div className={classes.board}>
      <StateChip tone={STATE_TONES[board.state]} label={STATE_LABELS[board.state]} />
      {ends && inOwnJob && (
        <span>
          <Trans>
            It uses resources until you stop it, or until it has been unused for a while.
          </Trans>
        </span>
      )}
      {board.reason && <span>{translate(board.reason)}</span>}
      {share && <ShareButton parent={share} name={share.name} compact />}
      {ends && (
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          loading={busy}
          onClick={() => void run(onStop)}
        >
          <Trans>Stop TensorBoard</Trans>
        </Button>
      )}
    </div>
  );
}
