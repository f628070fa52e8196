import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Stack, Text } from '@mantine/core';
import { download } from '@/lib/download';
import classes from '@/ui/AccountSection.module.css';
import { CopyButton } from '@/ui/CopyButton';

interface Props {
  codes: string[];
  onDone: () => void;
}

const FILE_NAME = 'portal-recovery-codes.txt';

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
        <Button variant="default" onClick={() => download(FILE_NAME, text)}>
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
