import { memo } from 'react';
import { conditionLabel, nodeSentence } from './labels';
import classes from './NodeMap.module.css';
import { cpuParts, squaresOf, stripesOf } from './nodeMap';
import { Swatch } from './Swatch';
import type { VisibleNode } from './types';

interface TileProps {
  node: VisibleNode;
  /** whether it is the tab stop */
  stop: boolean;
  chosen: boolean;
  choose: (name: string) => void;
}

/** A node's tile: its name, and a square for each GPU. */
export const Tile = memo(function Tile({ node, stop, chosen, choose }: TileProps) {
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
        {/* Decorative: the name above contains the state. */}
        {!node.takes_work && (
          <span className={classes.why} data-word={conditionLabel(node).label} aria-hidden="true" />
        )}
      </button>
    </li>
  );
});

/** A small tile for maps of hundreds of nodes: a colored box with a stripe for each GPU. */
export const SmallTile = memo(function SmallTile({ node, stop, chosen, choose }: TileProps) {
  const label = nodeSentence(node);
  return (
    <li>
      <button
        type="button"
        className={classes.small}
        tabIndex={stop ? 0 : -1}
        aria-label={label}
        aria-pressed={chosen}
        title={label}
        data-mine={node.mine.length > 0}
        style={{ background: stripesOf(node) }}
        onClick={() => choose(node.name)}
      />
    </li>
  );
});

/** The GPUs of a node, one row for each type. */
function Gpus({ node }: { node: VisibleNode }) {
  return (
    <>
      {node.gpus.map((gpus) => (
        <span key={gpus.type} className={classes.squares}>
          {squaresOf(gpus).map((square, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the squares have no identity but their place
            <Swatch key={index} square={square} />
          ))}
        </span>
      ))}
    </>
  );
}

/** The free CPUs of a node without GPUs. */
function Cpus({ node }: { node: VisibleNode }) {
  return (
    <span className={classes.cpus}>
      {cpuParts(node).map(({ square, share }) => (
        <span key={square} data-square={square} style={{ flexGrow: share }} />
      ))}
    </span>
  );
}
