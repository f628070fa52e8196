import classes from './NodeMap.module.css';
import type { GpuState } from './nodeMap';

/** One GPU. Its shape as well as its color shows the state. */
export function Swatch({ state }: { state: GpuState }) {
  return <span className={classes.square} data-state={state} aria-hidden="true" />;
}
