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
  const acceptsNoJobs = node.cpusFree === null;
  return (
    <li>
      <button
        type="button"
        className={classes.tile}
        tabIndex={stop ? 0 : -1}
        aria-label={label}
        aria-pressed={chosen}
        title={label}
        data-out={acceptsNoJobs}
        data-mine={node.mine}
        onClick={() => choose(node.name)}
      >
        <span className={classes.name}>{node.name}</span>
        {node.gpuStates.length > 0 ? <Gpus node={node} /> : <Cpus node={node} />}
        {/* Decorative: the name above contains the state. */}
        {acceptsNoJobs && (
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
          {gpuStates.map((state, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: squares have no identity but their position
            <Swatch key={index} state={state} />
          ))}
        </span>
      ))}
    </>
  );
}

/** A node without GPUs: a bar of its used and free CPUs. */
function Cpus({ node }: { node: MapNode }) {
  return (
    <span className={classes.cpus}>
      {cpuParts(node).map(({ state, share }) => (
        <span key={state} data-state={state} style={{ flexGrow: share }} />
      ))}
    </span>
  );
}
