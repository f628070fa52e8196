import { Trans } from '@lingui/react/macro';
import { Paper, VisuallyHidden } from '@mantine/core';
import { type KeyboardEvent, useMemo, useRef } from 'react';
import { countsText, hardwareText, nodesText } from './labels';
import classes from './NodeMap.module.css';
import { countGpus, type Group, groupNodes } from './nodeMap';
import { SmallTile, Tile } from './Tile';
import type { VisibleNode } from './types';

/** With more nodes than this, each is a small tile without its name. */
const MOST_NAMED = 240;

interface Props {
  nodes: readonly VisibleNode[];
  chosen: string | undefined;
  /** must be stable between renders, or thousands of tiles are rendered again */
  choose: (name: string) => void;
}

/** A map with a tile for each node and a square for each GPU; nodes with the same hardware are
 * grouped. It is one tab stop: arrow keys move between nodes, Enter opens one. */
export function NodeMap({ nodes, chosen, choose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const all = useMemo(() => groupNodes(nodes), [nodes]);
  const dense = nodes.length > MOST_NAMED;
  const first = all[0]?.nodes[0]?.name;
  const stop = nodes.some((node) => node.name === chosen) ? chosen : first;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons inside have the focus
    <div
      ref={box}
      className={classes.picture}
      data-dense={dense}
      onKeyDown={(event) => move(event, box.current)}
    >
      <VisuallyHidden component="p" className={classes.hint} id="picture-keys">
        <Trans>
          Arrow keys move between the nodes, Enter shows one. The table has the same as text.
        </Trans>
      </VisuallyHidden>
      {dense && (
        <p className={classes.dense}>
          <Trans>Each box is a node, each stripe in it a GPU.</Trans>
        </p>
      )}
      {all.map((group) => (
        <GroupOfNodes
          key={group.key}
          group={group}
          One={dense ? SmallTile : Tile}
          stop={stop}
          chosen={chosen}
          choose={choose}
        />
      ))}
    </div>
  );
}

interface GroupProps {
  group: Group;
  One: typeof Tile;
  stop: string | undefined;
  chosen: string | undefined;
  choose: (name: string) => void;
}

function GroupOfNodes({ group, One, stop, chosen, choose }: GroupProps) {
  const counts = useMemo(() => countGpus(group.nodes), [group]);
  return (
    <Paper component="section" className={classes.group} aria-label={hardwareText(group.like)}>
      <h3 className={classes.made}>
        <span>{hardwareText(group.like)}</span>
        <span className={classes.sum}>{nodesText(group.nodes.length)}</span>
        {counts.total > 0 && <span className={classes.sum}>{countsText(counts)}</span>}
      </h3>
      <ul className={classes.tiles} aria-describedby="picture-keys">
        {group.nodes.map((node) => (
          <One
            key={node.name}
            node={node}
            stop={node.name === stop}
            chosen={node.name === chosen}
            choose={choose}
          />
        ))}
      </ul>
    </Paper>
  );
}

/** Move the focus with an arrow key: along the tiles, or to the row above or below. */
function move(event: KeyboardEvent, box: HTMLElement | null): void {
  const tiles = [...(box?.querySelectorAll<HTMLElement>('li > button') ?? [])];
  const at = tiles.indexOf(document.activeElement as HTMLElement);
  const here = tiles[at];
  if (!here || event.altKey || event.ctrlKey || event.metaKey) return;
  const steps: Record<string, HTMLElement | undefined> = {
    ArrowRight: tiles[at + 1],
    ArrowLeft: tiles[at - 1],
    ArrowDown: nearest(here, tiles, 1),
    ArrowUp: nearest(here, tiles, -1),
    Home: tiles[0],
    End: tiles.at(-1),
  };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const next = steps[event.key];
  if (!next) return;
  here.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

/** Return the tile in the next row, above or below, with the smallest horizontal distance. */
function nearest(here: HTMLElement, tiles: readonly HTMLElement[], way: 1 | -1) {
  const from = here.getBoundingClientRect();
  let best: HTMLElement | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const tile of tiles) {
    const to = tile.getBoundingClientRect();
    const down = way * (to.top - from.top);
    if (down < 1) continue;
    const far = down * 1000 + Math.abs(to.left - from.left);
    if (far < least) {
      least = far;
      best = tile;
    }
  }
  return best;
}
