import { Paper } from '@mantine/core';
import { type KeyboardEvent, memo, useRef } from 'react';
import classes from './Picture.module.css';
import { countGpus, type Group, groups, SQUARES, squaresOf } from './picture';
import { Swatch } from './Swatch';
import type { SeenNode } from './shapes';
import { conditionWords, countsText, madeText, nodeSentence, nodesText } from './words';

/** With more nodes than this, each is a small tile without its name. */
const MOST_NAMED = 240;

interface Props {
  nodes: readonly SeenNode[];
  chosen: string | undefined;
  choose: (name: string) => void;
}

/** Each node a tile, each GPU a square; nodes that are made alike stand together. One stop for the
 * tab key: arrows move from node to node, Enter shows one. */
export function Picture({ nodes, chosen, choose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const all = groups(nodes);
  const first = all[0]?.nodes[0]?.name;
  const stop = nodes.some((node) => node.name === chosen) ? chosen : first;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons inside have the focus
    <div
      ref={box}
      className={classes.picture}
      data-dense={nodes.length > MOST_NAMED}
      onKeyDown={(event) => move(event, box.current)}
    >
      <p className={classes.hint} id="picture-keys">
        Arrow keys move between the nodes, Enter shows one. The table has the same as text.
      </p>
      {all.map((group) => (
        <GroupOfNodes key={group.key} group={group} stop={stop} chosen={chosen} choose={choose} />
      ))}
    </div>
  );
}

interface GroupProps {
  group: Group;
  stop: string | undefined;
  chosen: string | undefined;
  choose: (name: string) => void;
}

function GroupOfNodes({ group, stop, chosen, choose }: GroupProps) {
  const counts = countGpus(group.nodes);
  return (
    <Paper component="section" className={classes.group} aria-label={madeText(group.like)}>
      <h3 className={classes.made}>
        <span>{madeText(group.like)}</span>
        <span className={classes.sum}>{nodesText(group.nodes.length)}</span>
        {counts.total > 0 && <span className={classes.sum}>{countsText(counts)}</span>}
      </h3>
      <ul className={classes.tiles} aria-describedby="picture-keys">
        {group.nodes.map((node) => (
          <Tile
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

interface TileProps {
  node: SeenNode;
  /** where the tab key stops */
  stop: boolean;
  chosen: boolean;
  choose: (name: string) => void;
}

const Tile = memo(function Tile({ node, stop, chosen, choose }: TileProps) {
  const label = nodeSentence(node);
  return (
    <li>
      <button
        type="button"
        className={classes.tile}
        tabIndex={stop ? 0 : -1}
        aria-label={label}
        aria-pressed={chosen}
        title={label}
        data-out={!node.takes_work}
        data-mine={node.mine.length > 0}
        onClick={() => choose(node.name)}
      >
        <span className={classes.name}>{node.name}</span>
        {node.gpus.length > 0 ? <Gpus node={node} /> : <Cpus node={node} />}
        {!node.takes_work && <span className={classes.why}>{conditionWords(node).label}</span>}
      </button>
    </li>
  );
});

/** A row for each type. */
function Gpus({ node }: { node: SeenNode }) {
  return (
    <>
      {node.gpus.map((gpus) => (
        <span key={gpus.type} className={classes.squares}>
          {squaresOf(gpus).map((square, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the squares have no identity but their place
            <Swatch key={place} square={square} />
          ))}
        </span>
      ))}
    </>
  );
}

/** A node without GPUs: how much of its CPUs is free. */
function Cpus({ node }: { node: SeenNode }) {
  const used = node.cpus - node.cpus_free;
  const parts = node.takes_work ? { others: used, free: node.cpus_free } : { out: node.cpus };
  return (
    <span className={classes.cpus}>
      {SQUARES.filter((square) => square in parts).map((square) => (
        <span
          key={square}
          data-square={square}
          style={{ flexGrow: parts[square as keyof typeof parts] }}
        />
      ))}
    </span>
  );
}

/** Where an arrow key leads: along the tiles, or to the one above or below. */
function move(event: KeyboardEvent, box: HTMLElement | null): void {
  const tiles = [...(box?.querySelectorAll<HTMLElement>(`.${classes.tile}`) ?? [])];
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

/** The tile in the next row, above or below, that is the least to the side. */
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
