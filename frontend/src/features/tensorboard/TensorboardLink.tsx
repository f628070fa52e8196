import { Button } from '@mantine/core';
import { Icon } from '@/ui/icons';

interface Props {
  id: string;
  kind?: 'sessions' | 'jobs';
  variant: 'filled' | 'default' | 'subtle';
}

/** A link for an active or ended session or job: its page starts a TensorBoard and opens it. */
export function TensorboardLink({ id, kind = 'sessions', variant }: Props) {
  const quiet = variant === 'subtle';
  return (
    <Button
      component="a"
      variant={variant}
      color={quiet ? 'gray' : undefined}
      px={quiet ? 'xs' : 'sm'}
      href={`/${kind}/${id}/tensorboard`}
      target="_blank"
      rel="noopener"
      leftSection={<Icon name="chart" />}
    >
      TensorBoard
    </Button>
  );
}
