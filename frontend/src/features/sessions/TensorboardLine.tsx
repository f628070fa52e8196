import { Button } from '@mantine/core';
import type { Tensorboard } from '@/api/types';
import { StateChip } from '@/ui/StateChip';
import classes from './SessionCard.module.css';
import { useAct } from './useAct';
import type { Tone } from './words';

const TONES: Record<Tensorboard['state'], [Tone, string]> = {
  stopped: ['quiet', 'TensorBoard stopped'],
  queued: ['waiting', 'TensorBoard waits for its place'],
  starting: ['busy', 'TensorBoard starting'],
  running: ['good', 'TensorBoard running'],
  failed: ['bad', 'TensorBoard failed'],
};

interface Props {
  board: Tensorboard | null;
  onStop: () => Promise<void>;
}

/** How a TensorBoard stands, if there is one. */
export function TensorboardLine({ board, onStop }: Props) {
  const [busy, act] = useAct();
  if (board === null || board.state === 'stopped') return null;
  const [tone, label] = TONES[board.state];
  return (
    <div className={classes.board}>
      <StateChip tone={tone} label={label} />
      {board.reason && <span>{board.reason}</span>}
      {board.state !== 'failed' && (
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          loading={busy}
          onClick={() => void act(onStop)}
        >
          Stop TensorBoard
        </Button>
      )}
    </div>
  );
}
