import { Button } from '@mantine/core';
import { useEffect, useState } from 'react';
import { copyText } from '@/lib/copy';
import { Icon } from '@/ui/icons';

const SHOWN_MS = 2000;
const WORDS = { idle: 'Copy', copied: 'Copied', failed: 'Could not copy' } as const;

export function CopyButton({ text }: { text: string }) {
  const [state, setState] = useState<keyof typeof WORDS>('idle');
  useEffect(() => {
    if (state === 'idle') return;
    const timer = window.setTimeout(() => setState('idle'), SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, [state]);
  return (
    <Button
      variant="default"
      disabled={text === ''}
      leftSection={<Icon name={state === 'copied' ? 'check' : 'copy'} />}
      onClick={() => void copyText(text).then((ok) => setState(ok ? 'copied' : 'failed'))}
    >
      <span aria-live="polite">{WORDS[state]}</span>
    </Button>
  );
}
