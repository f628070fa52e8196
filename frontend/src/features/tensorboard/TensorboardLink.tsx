import { Button } from '@mantine/core';
import { Icon } from '@/ui/icons';

interface Props {
  id: string;
  kind?: 'sessions' | 'jobs';
  variant: 'default' | 'subtle';
}

/** One click, for a running or an ended session or job: the page it opens has a TensorBoard started and goes there. */
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
