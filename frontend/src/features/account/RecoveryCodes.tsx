import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Stack, Text } from '@mantine/core';
import classes from '@/ui/AccountSection.module.css';
import { CopyButton } from '@/ui/CopyButton';

interface Props {
  codes: string[];
  onDone: () => void;
}

function download(text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = 'portal-recovery-codes.txt';
  link.click();
  URL.revokeObjectURL(address);
}

/** The recovery codes, for a lost phone. They are shown only once. */
export function RecoveryCodes({ codes, onDone }: Props) {
  const text = `${codes.join('\n')}\n`;
  return (
    <Stack>
      <Text size="sm">
        <Trans>
          Keep these recovery codes separate from your phone. Each of them replaces a code of your
          app once. They are not shown again.
        </Trans>
      </Text>
      <ul className={classes.codes} aria-label={t`Recovery codes`}>
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <Group>
        <CopyButton text={text} />
        <Button variant="default" onClick={() => download(text)}>
          <Trans>Download</Trans>
        </Button>
      </Group>
      <Group justify="flex-end">
        <Button onClick={onDone}>
          <Trans>I've saved these codes</Trans>
        </Button>
      </Group>
    </Stack>
  );
}
