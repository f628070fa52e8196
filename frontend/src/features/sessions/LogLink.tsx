import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Icon } from '@/ui/icons';

export function LogLink({ id }: { id: string }) {
  return (
    <Button
      component={Link}
      to={`/sessions/${id}/log`}
      variant="subtle"
      px="xs"
      color="gray"
      leftSection={<Icon name="log" />}
    >
      <Trans>Log</Trans>
    </Button>
  );
}
