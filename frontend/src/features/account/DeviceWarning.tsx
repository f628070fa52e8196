import { Trans } from '@lingui/react/macro';
import { Text } from '@mantine/core';
import { Notice } from '@/ui/Notice';

/** The warning of a code that another user has sent, which would give that user a token. */
export function DeviceWarning({ sameNetwork }: { sameNetwork: boolean }) {
  return (
    <Notice tone="warning">
      <Trans>
        Confirm only a login that you started yourself, on this device, just now. Refuse it if you
        received the code or the link from someone else.
      </Trans>
      {!sameNetwork && (
        <Text fw={600}>
          <Trans>This device isn't in the network of this browser.</Trans>
        </Text>
      )}
    </Notice>
  );
}
