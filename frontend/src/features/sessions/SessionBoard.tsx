import type { Session } from '@/api/types';
import { stopTensorboard } from './actions';
import { TensorboardLine } from './TensorboardLine';

/** A session's TensorBoard, while there is one to speak of. */
export function SessionBoard({ session }: { session: Session }) {
  return (
    <TensorboardLine
      board={session.tensorboard}
      onStop={() => stopTensorboard(session.id)}
      share={{ kind: 'sessions', id: session.id, name: session.name }}
      stopped
    />
  );
}
