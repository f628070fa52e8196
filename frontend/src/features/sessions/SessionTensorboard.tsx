import type { Session } from '@/api/types';
import { TensorboardLine } from '@/features/tensorboard/TensorboardLine';
import { stopTensorboard } from './actions';

/** A session's TensorBoard, if it has one. */
export function SessionTensorboard({ session }: { session: Session }) {
  return (
    <TensorboardLine
      board={session.tensorboard}
      inOwnJob={session.state === 'ended'}
      onStop={() => stopTensorboard(session.id)}
      share={{ kind: 'sessions', id: session.id, name: session.name }}
      showStopped
    />
  );
}
