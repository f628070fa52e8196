import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Icon } from '@/ui/icons';
import type { LogDoc } from './doc';
import type { Match } from './find';
import { LogBlock } from './LogBlock';
import classes from './LogText.module.css';

/** The view follows the log while it is this close to the end. */
const NEAR_PX = 40;
const NONE: readonly Match[] = [];

interface Props {
  doc: LogDoc;
  /** the label for screen readers */
  label: string;
  /** the text shown for an empty log */
  empty: string;
  matches: readonly Match[];
  /** the current match */
  current: Match | null;
  wrap: boolean;
  /** as tall as its content, so that what follows a short log is visible */
  fitContent: boolean;
}

/** The log's text. It stays at the end unless the reader has scrolled up or is searching. */
export function LogText({ doc, label, empty, matches, current, wrap, fitContent }: Props) {
  const box = useRef<HTMLElement>(null);
  const text = useRef<HTMLPreElement>(null);
  const [isFollowing, setFollowing] = useState(true);
  const height = useRef(0);
  const top = useRef(0);
  const first = doc.blocks[0]?.key;

  const hasText = doc.characters > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: text.current is set only once hasText is true
  useLayoutEffect(() => {
    if (!isFollowing || !box.current || !text.current) return;
    const toEnd = (): void => {
      if (box.current) box.current.scrollTop = box.current.scrollHeight;
    };
    toEnd();
    // The height grows with new lines, and with blocks that become visible: until then theirs is
    // estimated.
    const grown = new ResizeObserver(toEnd);
    grown.observe(text.current);
    return () => grown.disconnect();
  }, [isFollowing, hasText]);

  // Text inserted above must not move the lines that the user reads.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs only when the first block changes
  useLayoutEffect(() => {
    const element = box.current;
    if (element && !isFollowing && height.current > 0 && element.scrollTop < NEAR_PX)
      element.scrollTop += element.scrollHeight - height.current;
  }, [first]);
  useLayoutEffect(() => {
    height.current = box.current?.scrollHeight ?? 0;
  });

  useEffect(() => {
    const element = box.current;
    if (current === null || element === null) return;
    element.querySelector('[data-current]')?.scrollIntoView({ block: 'center' });
    setFollowing(isNearEnd(element));
  }, [current]);

  const byBlock = useMemo(() => groupByBlock(matches), [matches]);
  const onScroll = (): void => {
    const element = box.current;
    if (element === null) return;
    // Only scrolling up stops following; growth of the log must not.
    if (isNearEnd(element)) setFollowing(true);
    else if (element.scrollTop < top.current) setFollowing(false);
    top.current = element.scrollTop;
  };
  const last = doc.blocks.length - 1;
  return (
    <div className={classes.frame}>
      <section
        ref={box}
        className={classes.text}
        onScroll={onScroll}
        data-wrap={wrap}
        data-fit-content={fitContent}
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it
        tabIndex={0}
      >
        {doc.characters === 0 ? (
          <p className={classes.empty}>{empty}</p>
        ) : (
          <pre ref={text}>
            {doc.blocks.map((block, index) => (
              <LogBlock
                key={block.key}
                block={block}
                last={index === last}
                matches={byBlock.get(block.key) ?? NONE}
                current={current?.blockKey === block.key ? current : null}
              />
            ))}
          </pre>
        )}
      </section>
      {!isFollowing && (
        <Button
          className={classes.toEnd}
          size="compact-sm"
          variant="default"
          leftSection={<Icon name="down" size={14} />}
          onClick={() => setFollowing(true)}
        >
          <Trans>To the end</Trans>
        </Button>
      )}
    </div>
  );
}

const isNearEnd = ({ scrollTop, clientHeight, scrollHeight }: HTMLElement): boolean =>
  scrollHeight - scrollTop - clientHeight < NEAR_PX;

function groupByBlock(matches: readonly Match[]): Map<number, Match[]> {
  const groups = new Map<number, Match[]>();
  for (const match of matches) {
    const group = groups.get(match.blockKey);
    if (group) group.push(match);
    else groups.set(match.blockKey, [match]);
  }
  return groups;
}
