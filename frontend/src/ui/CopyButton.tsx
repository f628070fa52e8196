import { t } from '@lingui/core/macro';
import { ActionIcon, Button, VisuallyHidden } from '@mantine/core';
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

/** Return a function that copies the text, and how that went for a moment afterwards. */
function useCopy(text: Props['text']): [keyof typeof LABELS, () => void] {
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
  return [state, () => void copy()];
}

export function CopyButton({ text, disabled = text === '' }: Props) {
  const [state, copy] = useCopy(text);
  return (
    <Button
      variant="default"
      disabled={disabled}
      leftSection={<Icon name={state === 'copied' ? 'check' : 'copy'} />}
      onClick={copy}
    >
      <span aria-live="polite">{LABELS[state]}</span>
    </Button>
  );
}

/** A small button beside the text that it copies. */
export function CopyIcon({ text, label }: { text: string; label: string }) {
  const [state, copy] = useCopy(text);
  return (
    <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onClick={copy}>
      <Icon name={state === 'copied' ? 'check' : 'copy'} size={14} />
      <VisuallyHidden aria-live="polite">{state === 'idle' ? '' : LABELS[state]}</VisuallyHidden>
    </ActionIcon>
  );
}
