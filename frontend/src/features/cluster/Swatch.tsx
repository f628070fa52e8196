import classes from './NodeMap.module.css';
import type { GpuState } from './nodeMap';

/** One GPU. Its shape as well as its color shows the state. */
export function Swatch({ square }: { square: GpuState }) {
  return <span className={classes.square} data-square={square} aria-hidden="true" />;
}
