import type { Session } from '@/api/types';
import { TensorboardLine } from '@/features/tensorboard/TensorboardLine';
import { stopTensorboard } from './actions';

/** A session's TensorBoard, while there is one to speak of. */
export function SessionTensorboard({ session }: { session: Session }) {
  return (
    <TensorboardLine
      board={session.tensorboard}
      onStop={() => stopTensorboard(session.id)}
      share={{ kind: 'sessions', id: session.id, name: session.name }}
      stopped
    />
  );
}
