import { t } from '@lingui/core/macro';
import { Button } from '@mantine/core';
import { useEffect, useState } from 'react';
import { copyText } from '@/lib/copy';
import { Icon } from '@/ui/icons';

const SHOWN_MS = 2000;
const LABELS = { idle: t`Copy`, copied: t`Copied`, failed: t`Could not copy` } as const;

interface Props {
  /** or a function that creates it, if that is expensive */
  text: string | (() => string);
  disabled?: boolean;
}

export function CopyButton({ text, disabled = text === '' }: Props) {
  const [state, setState] = useState<keyof typeof LABELS>('idle');
  useEffect(() => {
    if (state === 'idle') return;
    const timer = window.setTimeout(() => setState('idle'), SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, [state]);
  const copy = async (): Promise<void> => {
    const ok = await copyText(typeof text === 'string' ? text : text());
    setState(ok ? 'copied' : 'failed');
  };
  return (
    <Button
      variant="default"
      disabled={disabled}
      leftSection={<Icon name={state === 'copied' ? 'check' : 'copy'} />}
      onClick={() => void copy()}
    >
      <span aria-live="polite">{LABELS[state]}</span>
    </Button>
  );
}
