import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Icon } from '@/ui/icons';
import type { LogDoc } from './doc';
import type { Found } from './find';
import { LogBlock } from './LogBlock';
import classes from './LogText.module.css';

/** This near to the end counts as reading along. */
const NEAR_PX = 40;
const NONE: readonly Found[] = [];

interface Props {
  doc: LogDoc;
  /** what a screen reader calls it */
  label: string;
  /** the text shown for an empty log */
  empty: string;
  found: readonly Found[];
  /** of those found, the one to look at */
  current: Found | null;
  wrap: boolean;
  /** as tall as it is long, so that what comes after a short log is seen */
  short: boolean;
}

/** The text; it stays at its end unless the reader has scrolled up or looks for something. */
export function LogText({ doc, label, empty, found, current, wrap, short }: Props) {
  const box = useRef<HTMLElement>(null);
  const text = useRef<HTMLPreElement>(null);
  const [along, setAlong] = useState(true);
  const height = useRef(0);
  const top = useRef(0);
  const first = doc.blocks[0]?.key;

  const some = doc.characters > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is there once there is some
  useLayoutEffect(() => {
    if (!along || !box.current || !text.current) return;
    const toEnd = (): void => {
      if (box.current) box.current.scrollTop = box.current.scrollHeight;
    };
    toEnd();
    // New lines make it longer, and so does what comes into sight: until then its height is a guess.
    const grown = new ResizeObserver(toEnd);
    grown.observe(text.current);
    return () => grown.disconnect();
  }, [along, some]);

  // What is put in front shall not move what one reads.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new first block is what moves it
  useLayoutEffect(() => {
    const now = box.current;
    if (now && !along && height.current > 0 && now.scrollTop < NEAR_PX)
      now.scrollTop += now.scrollHeight - height.current;
  }, [first]);
  useLayoutEffect(() => {
    height.current = box.current?.scrollHeight ?? 0;
  });

  useEffect(() => {
    const now = box.current;
    if (current === null || now === null) return;
    now.querySelector('[data-current]')?.scrollIntoView({ block: 'center' });
    setAlong(isNearEnd(now));
  }, [current]);

  const byBlock = useMemo(() => grouped(found), [found]);
  const onScroll = (): void => {
    const now = box.current;
    if (now === null) return;
    // Only scrolling up leaves the end; growth of the log must not.
    if (isNearEnd(now)) setAlong(true);
    else if (now.scrollTop < top.current) setAlong(false);
    top.current = now.scrollTop;
  };
  const last = doc.blocks.length - 1;
  return (
    <div className={classes.frame}>
      <section
        ref={box}
        className={classes.text}
        onScroll={onScroll}
        data-wrap={wrap}
        data-short={short}
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it
        tabIndex={0}
      >
        {doc.characters === 0 ? (
          <p className={classes.empty}>{empty}</p>
        ) : (
          <pre ref={text}>
            {doc.blocks.map((block, at) => (
              <LogBlock
                key={block.key}
                block={block}
                last={at === last}
                found={byBlock.get(block.key) ?? NONE}
                current={current?.key === block.key ? current : null}
              />
            ))}
          </pre>
        )}
      </section>
      {!along && (
        <Button
          className={classes.toEnd}
          size="compact-sm"
          variant="default"
          leftSection={<Icon name="down" size={14} />}
          onClick={() => setAlong(true)}
        >
          <Trans>To the end</Trans>
        </Button>
      )}
    </div>
  );
}

const isNearEnd = ({ scrollTop, clientHeight, scrollHeight }: HTMLElement): boolean =>
  scrollHeight - scrollTop - clientHeight < NEAR_PX;

function grouped(found: readonly Found[]): Map<number, Found[]> {
  const groups = new Map<number, Found[]>();
  for (const one of found) {
    const group = groups.get(one.key);
    if (group) group.push(one);
    else groups.set(one.key, [one]);
  }
  return groups;
}
