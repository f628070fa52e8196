import { Trans } from '@lingui/react/macro';
import { Paper, VisuallyHidden } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, useMemo, useRef } from 'react';
import { nodeCountText } from '@/lib/resourceLabels';
import clusterClasses from './Cluster.module.css';
import { countsText, nodeHardwareText } from './labels';
import { NodeCanvas } from './NodeCanvas';
import classes from './NodeMap.module.css';
import { boxSize, countGpus, type Group, groupNodes, type MapNode } from './nodeMap';
import { Tile } from './Tile';

/** With more nodes than this, each is a small box without its name. */
const MAX_NAMED = 240;

interface Props {
  nodes: readonly MapNode[];
  chosen: string | undefined;
  choose: (name: string) => void;
  /** shows the same as a table */
  showTable: () => void;
}

/** A map of the nodes, grouped by hardware, with the state of each GPU. */
export function NodeMap(props: Props) {
  const groups = useMemo(() => groupNodes(props.nodes), [props.nodes]);
  return props.nodes.length > MAX_NAMED ? (
    <DenseMap groups={groups} {...props} />
  ) : (
    <TileMap groups={groups} {...props} />
  );
}

interface MapProps extends Props {
  groups: readonly Group[];
}

/** A box for each node, in one picture for each kind of hardware. The table has the same for
 * keyboards and screen readers. */
function DenseMap({ groups, nodes, chosen, choose, showTable }: MapProps) {
  const size = useMemo(() => boxSize(nodes.length), [nodes.length]);
  return (
    <div className={classes.picture}>
      <p className={classes.dense}>
        <Trans>
          Each box is a node, each stripe in it a GPU. Point at a box for its name and state.{' '}
          <button type="button" className={clusterClasses.link} onClick={showTable}>
            Show the nodes as a table
          </button>
        </Trans>
      </p>
      {groups.map((group) => (
        <GroupOfNodes key={group.key} group={group}>
          <NodeCanvas
            label={`${nodeCountText(group.nodes.length)}. ${countsText(countGpus(group.nodes))}`}
            nodes={group.nodes}
            size={size}
            chosen={chosen}
            choose={choose}
          />
        </GroupOfNodes>
      ))}
    </div>
  );
}

/** A tile for each node and a square for each GPU. It is one tab stop: arrow keys move between
 * nodes, Enter opens one. */
function TileMap({ groups, nodes, chosen, choose }: MapProps) {
  const box = useRef<HTMLDivElement>(null);
  const first = groups[0]?.nodes[0]?.name;
  const stop = nodes.some((node) => node.name === chosen) ? chosen : first;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons inside have the focus
    <div ref={box} className={classes.picture} onKeyDown={(event) => move(event, box.current)}>
      <VisuallyHidden component="p" className={classes.hint} id="picture-keys">
        <Trans>
          Arrow keys move between the nodes, Enter shows one. The table has the same as text.
        </Trans>
      </VisuallyHidden>
      {groups.map((group) => (
        <GroupOfNodes key={group.key} group={group}>
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
        </GroupOfNodes>
      ))}
    </div>
  );
}

function GroupOfNodes({ group, children }: { group: Group; children: ReactNode }) {
  const counts = useMemo(() => countGpus(group.nodes), [group]);
  return (
    <Paper
      component="section"
      className={classes.group}
      aria-label={nodeHardwareText(group.hardware)}
    >
      <h3 className={classes.made}>
        <span>{nodeHardwareText(group.hardware)}</span>
        <span className={classes.sum}>{nodeCountText(group.nodes.length)}</span>
        {counts.total > 0 && <span className={classes.sum}>{countsText(counts)}</span>}
      </h3>
      {children}
    </Paper>
  );
}

/** Move the focus with an arrow key: along the tiles, or to the row above or below. */
function move(event: KeyboardEvent, box: HTMLElement | null): void {
  const tiles = [...(box?.querySelectorAll<HTMLElement>('li > button') ?? [])];
  const index = tiles.indexOf(document.activeElement as HTMLElement);
  const here = tiles[index];
  if (!here || event.altKey || event.ctrlKey || event.metaKey) return;
  const steps: Record<string, HTMLElement | undefined> = {
    ArrowRight: tiles[index + 1],
    ArrowLeft: tiles[index - 1],
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
