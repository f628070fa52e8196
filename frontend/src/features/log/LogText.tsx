import { Button } from '@mantine/core';
import { useLayoutEffect, useRef, useState } from 'react';
import { Icon } from '@/ui/icons';
import classes from './LogPage.module.css';

/** This near to the end counts as reading along. */
const NEAR_PX = 40;

/** The text; it stays at its end unless the reader has scrolled up. */
export function LogText({ text, empty }: { text: string; empty: string }) {
  const box = useRef<HTMLPreElement>(null);
  const [along, setAlong] = useState(true);

  // biome-ignore lint/correctness/useExhaustiveDependencies: new text is what moves the end
  useLayoutEffect(() => {
    if (along && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, along]);

  const onScroll = (): void => {
    const { scrollTop, clientHeight, scrollHeight } = box.current ?? document.body;
    setAlong(scrollHeight - scrollTop - clientHeight < NEAR_PX);
  };

  return (
    <div className={classes.frame}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it */}
      <pre ref={box} className={classes.text} onScroll={onScroll} tabIndex={0}>
        {text === '' ? <span className={classes.note}>{empty}</span> : text}
      </pre>
      {!along && (
        <Button
          className={classes.toEnd}
          size="compact-sm"
          variant="default"
          leftSection={<Icon name="down" size={14} />}
          onClick={() => setAlong(true)}
        >
          To the end
        </Button>
      )}
    </div>
  );
}
