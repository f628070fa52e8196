import { memo } from 'react';
import { conditionLabel, describeNode } from './labels';
import classes from './NodeMap.module.css';
import { cpuParts, gpuStatesByType, type MapNode } from './nodeMap';
import { Swatch } from './Swatch';

interface TileProps {
  node: MapNode;
  /** whether it is the tab stop */
  stop: boolean;
  chosen: boolean;
  choose: (name: string) => void;
}

/** A node's tile: its name, and a square for each GPU. */
export const Tile = memo(function Tile({ node, stop, chosen, choose }: TileProps) {
  const label = describeNode(node);
  const out = node.cpusFree === null;
  return (
    <li>
      <button
        type="button"
        className={classes.tile}
        tabIndex={stop ? 0 : -1}
        aria-label={label}
        aria-pressed={chosen}
        title={label}
        data-out={out}
        data-mine={node.mine}
        onClick={() => choose(node.name)}
      >
        <span className={classes.name}>{node.name}</span>
        {node.gpuStates.length > 0 ? <Gpus node={node} /> : <Cpus node={node} />}
        {/* Decorative: the name above contains the state. */}
        {out && (
          <span className={classes.why} data-word={conditionLabel(node).label} aria-hidden="true" />
        )}
      </button>
    </li>
  );
});

/** The GPUs of a node, one row for each type. */
function Gpus({ node }: { node: MapNode }) {
  return (
    <>
      {gpuStatesByType(node).map(({ type, gpuStates }) => (
        <span key={type} className={classes.squares}>
          {gpuStates.map((square, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the squares have no identity but their place
            <Swatch key={index} square={square} />
          ))}
        </span>
      ))}
    </>
  );
}

/** The free CPUs of a node without GPUs. */
function Cpus({ node }: { node: MapNode }) {
  return (
    <span className={classes.cpus}>
      {cpuParts(node).map(({ square, share }) => (
        <span key={square} data-square={square} style={{ flexGrow: share }} />
      ))}
    </span>
  );
}
