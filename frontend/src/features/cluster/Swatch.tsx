import classes from './NodeMap.module.css';
import type { Square } from './nodeMap';

/** One GPU. What it is shows in its shape as well as in its colour. */
export function Swatch({ square }: { square: Square }) {
  return <span className={classes.square} data-square={square} aria-hidden="true" />;
}
